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
#include "weir/store/account_limits.h"

namespace weir::app {

/// The rows that it declares, as those of `service`, in order of their keys. kInvalidArgument,
/// naming the file and the entry, for what is no such file: not JSON, keys that are unknown or
/// missing, a limit or a window that is no whole number, an account and resource that come twice.
[[nodiscard]] Result<std::vector<AccountLimitRow>> ParseAccountLimits(std::string_view text,
                                                                      const std::string& file,
                                                                      const std::string& service);

}  // namespace weir::app
