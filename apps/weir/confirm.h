// Questions before records are deleted. Which commands ask:
// docs/adr/0026-deletions-that-ask-first.md.
#pragma once

#include <string_view>

#include "apps/weir/context.h"

namespace weir::app {

/// Asks on standard error; true: the line that was typed is `y` or `yes`. Blocks. REQUIRES:
/// standard input is a terminal.
bool Agreed(const World& world, std::string_view question);

/// For a deletion that cannot be undone, unless `yes`: asks on a terminal (kFailedPrecondition: the
/// answer was no); without one, a usage error that names --yes. `loss`: "deletes ... for good".
/// Blocks.
[[nodiscard]] Status NeedsYes(bool yes, Context& context, std::string_view loss);

}  // namespace weir::app
