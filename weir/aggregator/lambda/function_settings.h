// The settings of a Lambda function that counts the usage of a table.
//
// The names and values of the variables are those of zae-limiter 0.17.0's aggregator
// (zae_limiter_aggregator/handler.py).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "weir/base/result.h"
#include "weir/model/usage.h"

namespace weir::dynamo {

struct FunctionSettings {
  std::string table;                          ///< TABLE_NAME
  std::vector<UsageWindow> windows;           ///< SNAPSHOT_WINDOWS
  std::int64_t retention_days = 90;           ///< SNAPSHOT_TTL_DAYS
  std::optional<std::string> archive_bucket;  ///< if ENABLE_ARCHIVAL: ARCHIVE_BUCKET_NAME
  std::string function_name;                  ///< AWS_LAMBDA_FUNCTION_NAME
};

/// Fails with kInvalidArgument: the message has the name of the variable, its value and what would
/// be right. A variable that is empty counts as not set.
[[nodiscard]] Result<FunctionSettings> ReadFunctionSettings(
    const std::function<std::optional<std::string>(const std::string& name)>& environment);

}  // namespace weir::dynamo
