// rate-limiter-py's tables by their URL.
#pragma once

#include <string>
#include <string_view>

#include "weir/base/result.h"
#include "weir/dynamo/dynamo_url.h"
#include "weir/rate_limiter_py/tables.h"

namespace weir::rate_limiter_py {

inline constexpr std::string_view kUrlScheme = "rate-limiter-py:";

struct TablesUrl {
  TableNames names;
  std::string region;    ///< empty: as AWS's environment and profile say
  std::string endpoint;  ///< `http://localhost:8000`; empty: AWS's own of the region
};

/// Reads `rate-limiter-py://BASE?region=..&endpoint=..`. BASE names the tables, as FindNames says;
/// a URL without one (`rate-limiter-py:`) leaves that to the environment.
///
/// kInvalidArgument as dynamo::ReadServiceUrl and FindNames, also for a namespace: the tables have
/// none.
[[nodiscard]] Result<TablesUrl> ParseTablesUrl(std::string_view url,
                                               const dynamo::Environment& environment);

}  // namespace weir::rate_limiter_py
