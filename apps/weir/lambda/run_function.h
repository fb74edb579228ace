// Runs the program as an AWS Lambda function that counts the usage of a table.
#pragma once

#include "apps/weir/context.h"

namespace weir::app {

/// Serves invocations until Lambda ends the process, or its API fails. The variables of
/// FunctionSettings and AWS's own configure it. If it cannot start, it reports that to Lambda
/// (/runtime/init/error) and returns the error. Blocks.
[[nodiscard]] Result<Exit> RunFunction(Context& context);

}  // namespace weir::app
