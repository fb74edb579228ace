// Checks the number of entities that a request would charge.
#pragma once

#include "apps/weir/context.h"
#include "weir/model/entity.h"
#include "weir/store/config/config_store.h"

namespace weir::app {

/// A request of an entity charges the entity and, as long as the charged entities cascade, their
/// parents: a chain. Returns kFailedPrecondition, with the chain, if storing `entity` would make
/// the chain of `entity` or of a stored descendant longer than kMaxCascade (an entity may have
/// children before it has a record). If `entity` cascades, reads its parents and all descendants
/// that cascade. Blocks.
[[nodiscard]] Status CheckCascades(const Entity& entity, Context& context, ConfigStore& store);

}  // namespace weir::app
