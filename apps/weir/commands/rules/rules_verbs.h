// The `weir rules` subcommands, and `weir limits import`.
#pragma once

#include "apps/weir/verbs.h"

namespace weir::app {

/// Adds `rules check|try`.
void AddRules(CLI::App& app, Action& chosen);
/// Adds `import` to `group`, the verbs of `limits`.
void AddLimitsImport(CLI::App& group, Action& chosen);

}  // namespace weir::app
