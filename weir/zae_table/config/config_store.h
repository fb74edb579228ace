// The ConfigStore on DynamoDB.
#pragma once

#include <functional>
#include <string_view>

#include "weir/dynamodb/table.h"
#include "weir/store/config/config_store.h"
#include "weir/zae_table/bucket/bucket_limits.h"
#include "weir/zae_table/config/config_plan.h"
#include "weir/zae_table/keys.h"

namespace weir::dynamo {

/// Contract: store/config_store.h; for lists of changes that are long or delete entities, see also
/// weir/zae_table/config/config_apply.h. If an item uses a feature of zae-limiter that is not
/// implemented, calls that read or write it fail with kFailedPrecondition, name the feature, and
/// leave the item unchanged; deleting the entity of the item deletes the item.
///
/// Thread-safe; has no state. `table` must outlive this object and every pending call.
class DynamoConfigStore final : public ConfigStore {
 public:
  /// Called with the id of each entity that a list of changes has deleted, or may have deleted
  /// partly.
  using EntityGone = std::function<void(std::string_view)>;

  /// `limits` stores changed limits of entities in their buckets; it must outlive the store and its
  /// calls. Null: only the next request on a bucket stores the changed limits in the bucket.
  DynamoConfigStore(Table& table, Keys keys, ConfigSources sources, EntityGone gone = {},
                    BucketLimits* limits = nullptr)
      : table_(table),
        keys_(std::move(keys)),
        sources_(Complete(std::move(sources), table)),
        gone_(std::move(gone)),
        limits_(limits) {}

  /// Reads consistently: one request for each 100 levels.
  void GetLimits(std::span<const Level> levels, Deadline deadline,
                 Done<std::vector<std::optional<LevelLimits>>> done) override;
  void ListLimits(const LevelFilter& filter, const PageRequest& page, Deadline deadline,
                  Done<Page<LevelRecord>> done) override;
  void GetEntities(std::span<const std::string> ids, Deadline deadline,
                   Done<std::vector<std::optional<EntityRecord>>> done) override;
  void ListEntities(const std::optional<std::string>& parent, const PageRequest& page,
                    Deadline deadline, Done<Page<EntityRecord>> done) override;
  /// After all changes are made, stores the changed limits of entities in their buckets
  /// (weir/zae_table/config/config_conform.h). If that fails, the changes are stored all the same,
  /// the error names buckets, and applying the list again completes the buckets. A list of one
  /// DeleteLimits may be repeated too: it completes the buckets, and then fails with kNotFound.
  void Apply(std::vector<ConfigChange> changes, Deadline deadline, Done<void> done) override;

 private:
  /// Returns a callback that reports the entities which the changes delete, then runs `done`.
  Done<void> ForgetDeleted(std::span<const ConfigChange> changes, Done<void> done) const;
  static ConfigSources Complete(ConfigSources sources, Table& table) {
    if (!sources.now) sources.now = [&table] { return table.Now(); };
    return sources;
  }

  Table& table_;
  const Keys keys_;
  const ConfigSources sources_;
  const EntityGone gone_;
  BucketLimits* const limits_;
};

}  // namespace weir::dynamo
