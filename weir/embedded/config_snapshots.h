// The configuration as its readers see it while it is being changed.
#pragma once

#include <memory>
#include <span>
#include <utility>

#include "weir/base/mutex.h"
#include "weir/store/config_table.h"

namespace weir {

/// Two versions of a table: one that is read, and a draft that is changed. Readers wait neither for
/// a change nor for each other, and see a change whole or not at all. Costs a second table from the
/// first change on. Read is thread-safe; Draft and Publish belong to one thread at a time.
class ConfigSnapshots {
 public:
  explicit ConfigSnapshots(ConfigTable table)
      : published_(std::make_shared<Version>(Version{std::move(table)})) {}

  /// What `read` (const ConfigTable& to a value) finds.
  template <class Reader>
  auto Read(const Reader& read) const {
    const Reading reading(*this);
    return read(std::as_const(reading.version->table));
  }

  /// The next version: the published one with the changes made since.
  ConfigTable& Draft();
  /// Publishes the draft. `changes` are those made to it since the last publication.
  void Publish(std::span<const ConfigChange> changes);

 private:
  struct Version {
    ConfigTable table;
    int readers = 0;  // guarded by mutex_
  };
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
  std::shared_ptr<Version> draft_;  // null: to be copied from the published one
};

}  // namespace weir
