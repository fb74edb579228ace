// The file of rate-limiter-py's limits: JSON, one entry for each account and resource.
//
//   {"limits": [{"accountId": "acme", "resourceName": "emr", "limit": 5},
//               {"accountId": "acme", "resourceName": "api", "limit": 100, "windowSec": 60}]}
//
// Format: rate-limiter-py 0.3.0, LimitLoader.load_limits.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weir/base/result.h"
#include "weir/store/reservation/account_limits.h"

namespace weir::app {

/// Returns the rows that the file declares, as rows of `service`, in the order of their keys.
/// Returns kInvalidArgument, with the file and the entry, if the text is not JSON, a key is unknown
/// or missing, a limit or a window is not a whole number, or an account and resource are declared
/// twice.
[[nodiscard]] Result<std::vector<AccountLimitRow>> ParseAccountLimits(std::string_view text,
                                                                      const std::string& file,
                                                                      const std::string& service);

}  // namespace weir::app
