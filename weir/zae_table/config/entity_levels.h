// Lists the levels of one entity in pages.
#pragma once

#include <cstddef>
#include <optional>

#include "weir/dynamodb/table.h"
#include "weir/store/config/config_store.h"
#include "weir/zae_table/keys.h"

namespace weir::dynamo {

struct EntityLevelsPage {
  LevelFilter filter;          ///< names the entity
  std::optional<Level> after;  ///< the page begins after this level
  std::size_t limit = 1000;
};

/// Reads all configurations of the entity from its partition, consistently, and returns one page of
/// them in the order of Level. (In the order of their keys the entity's default would be among the
/// resources; in the order of Level it is the first.) kResourceExhausted if there are more than
/// kMaxConfigs. `table` must outlive the call.
void ListLevelsOfEntity(Table& table, const Keys& keys, EntityLevelsPage page, Deadline deadline,
                        Done<Page<LevelRecord>> done);

}  // namespace weir::dynamo
