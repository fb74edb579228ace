// ConfigStore on a file: read from memory, written through.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weir/embedded/committer.h"
#include "weir/embedded/config_snapshots.h"
#include "weir/embedded/state_file.h"
#include "weir/store/bucket_table.h"
#include "weir/store/config_audit.h"
#include "weir/store/config_table.h"

namespace weir {

/// A change is seen in memory only once it and its audit events are in the file, in one
/// transaction. Reading never waits for that. All arguments by reference must outlive it.
class EmbeddedConfig final : public ConfigStore {
 public:
  /// `table` is what the file has, `stamp` that of the events of changes.
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
  Status ApplyTo(StateFile& file, std::span<const ConfigChange> changes);
  std::vector<BucketKey> RemovedBuckets(std::span<const ConfigChange> changes) const;
  std::vector<BucketRecord> BucketsOf(const std::string& entity, std::size_t most) const;

  BucketTable& buckets_;
  Committer& committer_;
  ConfigSnapshots snapshots_;  // changed by jobs of the committer alone, as is the stamp
  AuditStamp stamp_;
};

}  // namespace weir
