// Questions before records are deleted. docs/adr/0026-deletions-that-ask-first.md lists the
// commands that ask.
#pragma once

#include <string_view>

#include "apps/weir/context.h"

namespace weir::app {

/// Asks a question on standard error. Succeeds if the typed line is `y`, `Y` or `yes`. Otherwise
/// returns kFailedPrecondition with `declined`; if a signal arrives first, returns kCancelled and
/// sets the signal's exit code. Blocks. REQUIRES: standard input is a terminal.
[[nodiscard]] Status Confirm(Context& context, std::string_view question,
                             std::string_view declined);

/// Confirms a deletion that cannot be undone, for which --yes was not given. Calls Confirm if
/// standard input is a terminal; otherwise returns a usage error that names --yes. `loss` is of the
/// form "deletes table limits with all its namespaces". Blocks.
[[nodiscard]] Status NeedsYes(Context& context, std::string_view loss);

}  // namespace weir::app
