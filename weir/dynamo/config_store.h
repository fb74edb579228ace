// ConfigStore on DynamoDB.
#pragma once

#include <functional>
#include <string_view>

#include "weir/dynamo/bucket_limits.h"
#include "weir/dynamo/config_plan.h"
#include "weir/dynamo/keys.h"
#include "weir/dynamo/table.h"
#include "weir/store/config_store.h"

namespace weir::dynamo {

/// Contract: store/config_store.h, and where a list of changes is long or deletes entities, what
/// weir/dynamo/config_apply.h says of it. An item that uses a feature of zae-limiter that is not
/// implemented here is refused by name (kFailedPrecondition) wherever it is read or written, and
/// left as it is; deleting its entity deletes it all the same.
///
/// Thread-safe; keeps no state. `table` must outlive it and every call that is under way.
class DynamoConfigStore final : public ConfigStore {
 public:
  /// Called with the id of each entity that was deleted, or that may have been in part.
  using EntityGone = std::function<void(std::string_view)>;

  /// `limits`: conforms the buckets that a change of an entity's limits concerns; it must outlive
  /// the store and its calls. Null: buckets get the limits from requests alone.
  DynamoConfigStore(Table& table, Keys keys, ConfigSources sources, EntityGone gone = {},
                    BucketLimits* limits = nullptr)
      : table_(table),
        keys_(std::move(keys)),
        sources_(Complete(std::move(sources), table)),
        gone_(std::move(gone)),
        limits_(limits) {}

  /// One consistent read of up to 100 levels at once; of more, one for each 100.
  void GetLimits(std::span<const Level> levels, Deadline deadline,
                 Done<std::vector<std::optional<LevelLimits>>> done) override;
  void ListLimits(const LevelFilter& filter, const PageRequest& page, Deadline deadline,
                  Done<Page<LevelRecord>> done) override;
  void GetEntities(std::span<const std::string> ids, Deadline deadline,
                   Done<std::vector<std::optional<EntityRecord>>> done) override;
  void ListEntities(const std::optional<std::string>& parent, const PageRequest& page,
                    Deadline deadline, Done<Page<EntityRecord>> done) override;
  /// After all changes are made, the buckets that the limits of entities concern get these limits,
  /// as weir/dynamo/config_conform.h says. Where that fails, the changes are stored, the error
  /// names buckets, and applying the list again completes it. So does repeating a DeleteLimits
  /// that is alone in its list; it answers kNotFound.
  void Apply(std::vector<ConfigChange> changes, Deadline deadline, Done<void> done) override;

 private:
  /// A `done` that first reports the entities that the changes delete.
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
