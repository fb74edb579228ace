// Checks the number of entities that a request would charge.
#pragma once

#include "apps/weir/context.h"
#include "weir/model/entity.h"
#include "weir/store/config/config_store.h"

namespace weir::app {

/// A request of an entity charges it and each parent up to one that does not cascade. Returns
/// kFailedPrecondition, with the chain, if `entity` as it is given would make a chain that is too
/// long for any request of it or of a stored descendant; an entity may have children before it has
/// a record. If it cascades, reads its parents and all descendants that cascade. Blocks.
[[nodiscard]] Status CheckCascades(const Entity& entity, Context& context, ConfigStore& store);

}  // namespace weir::app
