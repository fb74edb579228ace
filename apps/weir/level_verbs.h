// The verbs that the levels of limits share.
#pragma once

#include "apps/weir/verbs.h"

namespace weir::app {

/// Whose limits: everybody's, a resource's, an entity's.
enum class Scope { kSystem, kResource, kEntity };

/// Adds set-limits, get-limits and delete-limits.
void AddLevelVerbs(CLI::App& group, Scope scope, Action& chosen);

}  // namespace weir::app
