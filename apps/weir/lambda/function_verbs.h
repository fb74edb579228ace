// The verbs of `weir aggregate` for AWS Lambda.
#pragma once

#include "apps/weir/verbs.h"

namespace weir::app {

/// Adds `package` and `lambda` to the verb `aggregate`. See verbs.h.
void AddFunctionVerbs(CLI::App& aggregate, Action& chosen);

}  // namespace weir::app
