// The URL of rate-limiter-py's tables.
#pragma once

#include <string>
#include <string_view>

#include "weir/base/result.h"
#include "weir/dynamodb/service_url.h"
#include "weir/rate_limiter_py/tables.h"

namespace weir::rate_limiter_py {

inline constexpr std::string_view kUrlScheme = "rate-limiter-py:";

struct TablesUrl {
  TableNames names;
  std::string region;    ///< empty: from AWS's environment and profile
  std::string endpoint;  ///< `http://localhost:8000`; empty: AWS's endpoint of the region
};

/// Parses `rate-limiter-py://BASE?region=..&endpoint=..`. BASE determines the names of the tables,
/// as in FindNames; without it (`rate-limiter-py:`) they come from the environment.
///
/// Returns kInvalidArgument as dynamo::ReadServiceUrl and FindNames do, also for a namespace,
/// because the tables have none.
[[nodiscard]] Result<TablesUrl> ParseTablesUrl(std::string_view url,
                                               const dynamo::Environment& environment);

}  // namespace weir::rate_limiter_py
