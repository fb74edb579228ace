#include "weir/store/reservation/account_limits.h"

#include <fmt/format.h>

namespace weir {

Status Check(const AccountKey& key, const AccountLimit& limit) {
  WEIR_RETURN_IF_ERROR(Check(key));
  if (limit.limit > kMaxAccountTokens) {
    return Fail(Code::kInvalidArgument, fmt::format("{}: limit {}; expected at most {}",
                                                    Describe(key), limit.limit, kMaxAccountTokens));
  }
  if (limit.window < limit.window.zero() || limit.window > kLongestWindow) {
    return Fail(Code::kInvalidArgument,
                fmt::format("{}: a window of {} s; expected 0 (none) to {}", Describe(key),
                            limit.window.count(), kLongestWindow.count()));
  }
  return {};
}

}  // namespace weir
