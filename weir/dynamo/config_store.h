// ConfigStore on DynamoDB.
#pragma once

#include <functional>
#include <string_view>

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

  DynamoConfigStore(Table& table, Keys keys, ConfigSources sources, EntityGone gone = {})
      : table_(table),
        keys_(std::move(keys)),
        sources_(Complete(std::move(sources), table)),
        gone_(std::move(gone)) {}

  /// One consistent read of up to 100 levels at once; of more, one for each 100.
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
  static ConfigSources Complete(ConfigSources sources, Table& table) {
    if (!sources.now) sources.now = [&table] { return table.Now(); };
    return sources;
  }

  Table& table_;
  const Keys keys_;
  const ConfigSources sources_;
  const EntityGone gone_;
};

}  // namespace weir::dynamo
