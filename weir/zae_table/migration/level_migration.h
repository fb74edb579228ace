// Plans the migration of the legacy limits of one level into its composite item (one item with all
// limits of the level). No I/O.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "weir/base/result.h"
#include "weir/dynamodb/table.h"
#include "weir/zae_table/config/config_plan.h"
#include "weir/zae_table/migration/legacy_limit.h"

namespace weir::dynamo {

/// The stored state that the migration of a level depends on, read consistently. Items that do not
/// exist are empty.
struct StoredLevel {
  std::vector<Item> legacy;  ///< items whose ParseLegacyKey is this level
  std::optional<Item> composite;
  std::optional<Item> resources;  ///< the registries
  std::optional<Item> counts;
  std::optional<Item> system;  ///< the system's item, which has the retention of events
};

struct LevelMigration {
  /// One transaction, on the condition that the state is as it was read: the composite item and its
  /// registration, unless the level has limits already; the deletion of the legacy items; the
  /// event. Empty: there are no legacy items.
  std::vector<Write> writes;
  bool stores_limits = false;   ///< `writes` store the limits of the legacy items
  std::size_t removed = 0;      ///< the number of legacy items that `writes` delete
  std::vector<Limit> limits{};  ///< the limits of the level afterwards
  /// If the level has limits already: one text for each limit of a legacy item that differs from
  /// them.
  std::vector<std::string> differences{};
};

/// Plans the migration. Limits in the composite item always win. Errors, after which nothing must
/// be changed: ReadLegacyLimit's, those of ReadConfig for the composite item, and
/// kFailedPrecondition if the limits together are not valid.
[[nodiscard]] Result<LevelMigration> PlanLevelMigration(const NamespaceLevel& at,
                                                        const StoredLevel& stored,
                                                        const ConfigSources& sources);

}  // namespace weir::dynamo
