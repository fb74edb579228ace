// ConfigStore on a file: reads come from memory, changes are written to the file first.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weir/embedded/commit/committer.h"
#include "weir/embedded/file/state_file.h"
#include "weir/embedded/rows/config_snapshots.h"
#include "weir/store/bucket/bucket_table.h"
#include "weir/store/config/config_audit.h"
#include "weir/store/config/config_table.h"

namespace weir {

/// A change becomes visible in memory only once it and its audit events are in the file, in one
/// transaction. Reads never wait for a change. All arguments by reference must outlive this object.
class EmbeddedConfig final : public ConfigStore {
 public:
  /// `table` has the contents of the file. `stamp` gives events their ids, times and
  /// principal.
  EmbeddedConfig(ConfigTable table, BucketTable& buckets, AuditStamp stamp, Committer& committer);

  void GetLimits(std::span<const Level> levels, Deadline deadline,
                 Done<std::vector<std::optional<LevelLimits>>> done) override;
  void ListLimits(const LevelFilter& filter, const PageRequest& page, Deadline deadline,
                  Done<Page<LevelRecord>> done) override;
  void GetEntities(std::span<const std::string> ids, Deadline deadline,
                   Done<std::vector<std::optional<EntityRecord>>> done) override;
  void ListEntities(const std::optional<std::string>& parent, const PageRequest& page,
                    Deadline deadline, Done<Page<EntityRecord>> done) override;
  void Apply(std::vector<ConfigChange> changes, Deadline deadline, Done<void> done) override;

 private:
  /// The job of Apply, on the thread of the file.
  Status ApplyTo(StateFile& file, std::span<const ConfigChange> changes);
  /// Adds the use of the buckets that `changes` remove to the stored usage.
  Status StoreUse(StateFile& file, std::span<const ConfigChange> changes);
  /// Returns the keys of the buckets of all entities that `changes` delete.
  std::vector<BucketKey> RemovedBuckets(std::span<const ConfigChange> changes) const;
  std::vector<BucketRecord> BucketsOf(const std::string& entity, std::size_t most) const;

  BucketTable& buckets_;
  Committer& committer_;
  ConfigSnapshots snapshots_;  // changed by jobs of the committer only, as is stamp_
  AuditStamp stamp_;
};

}  // namespace weir
