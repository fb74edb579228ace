// Questions before records are deleted. Which commands ask:
// docs/adr/0026-deletions-that-ask-first.md.
#pragma once

#include <string_view>

#include "apps/weir/context.h"

namespace weir::app {

/// Asks on standard error, and succeeds if the line that is typed is `y`, `Y` or `yes`. Otherwise
/// kFailedPrecondition with `declined`; kCancelled, and the exit code of the signal, if one came
/// first. Blocks. REQUIRES: standard input is a terminal.
[[nodiscard]] Status Confirm(Context& context, std::string_view question,
                             std::string_view declined);

/// For a deletion that cannot be undone, unless `yes`: Confirm on a terminal; without one, a usage
/// error that names --yes. `loss`: "deletes ... for good, in ...". Blocks.
[[nodiscard]] Status NeedsYes(bool yes, Context& context, std::string_view loss);

}  // namespace weir::app
