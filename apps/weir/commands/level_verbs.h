// The verbs that all levels of limits share.
#pragma once

#include "apps/weir/verbs.h"

namespace weir::app {

/// The level of the limits: all requests, a resource or an entity.
enum class Scope { kSystem, kResource, kEntity };

/// Adds set-limits, get-limits and delete-limits.
void AddLevelVerbs(CLI::App& group, Scope scope, Action& chosen);

}  // namespace weir::app
