// A page of the levels of one entity.
#pragma once

#include <cstddef>
#include <optional>

#include "weir/dynamo/keys.h"
#include "weir/dynamo/table.h"
#include "weir/store/config_store.h"

namespace weir::dynamo {

struct EntityLevelsPage {
  LevelFilter filter;          ///< names the entity
  std::optional<Level> after;  ///< begins behind this one
  std::size_t limit = 1000;
};

/// Reads all configurations of the entity, consistently, from its partition: by their keys the
/// default is among the resources, by Level it is the first. kResourceExhausted if there are more
/// than kMostConfigs. The table must outlive the call.
void ListLevelsOfEntity(Table& table, const Keys& keys, EntityLevelsPage page, Deadline deadline,
                        Done<Page<LevelRecord>> done);

}  // namespace weir::dynamo
