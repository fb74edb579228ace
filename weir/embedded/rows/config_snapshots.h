// Versions of the configuration, so that it can be read while it is changed.
#pragma once

#include <memory>
#include <span>
#include <utility>

#include "weir/base/mutex.h"
#include "weir/store/config/config_table.h"

namespace weir {

/// Two versions of a table: the published one for readers, and a draft for changes. Readers wait
/// neither for a change nor for each other, and see a change completely or not at all. From the
/// first change on, this costs the memory of a second table. Read is thread-safe; Draft and Publish
/// must be called by one thread at a time.
class ConfigSnapshots {
 public:
  explicit ConfigSnapshots(ConfigTable table)
      : published_(std::make_shared<Version>(Version{std::move(table)})) {}

  /// Calls `read` with the published table, and returns its result.
  template <class Reader>
  auto Read(const Reader& read) const {
    const Reading reading(*this);
    return read(std::as_const(reading.version->table));
  }

  /// Returns the next version: the published one with the changes made since.
  ConfigTable& Draft();
  /// Publishes the draft. `changes` are the changes made to the draft since the last publication.
  void Publish(std::span<const ConfigChange> changes);

 private:
  struct Version {
    ConfigTable table;
    int readers = 0;  // guarded by mutex_
  };
  /// Keeps a version alive, and counts its readers.
  struct Reading {
    explicit Reading(const ConfigSnapshots& snapshots);
    ~Reading();
    Reading(const Reading&) = delete;
    Reading& operator=(const Reading&) = delete;

    const ConfigSnapshots& of;
    std::shared_ptr<Version> version;
  };

  mutable Mutex mutex_;
  std::shared_ptr<Version> published_ WEIR_GUARDED_BY(mutex_);
  std::shared_ptr<Version> draft_;  // null: to be copied from published_
};

}  // namespace weir
