#include "weir/reservation/token_guard.h"

#include <fmt/format.h>

#include <string>

namespace weir {

Result<TokenGuard> TokenGuard::Take(TokenLimiter& limiter, const TokenRequest& request,
                                    Deadline deadline) {
  WEIR_ASSIGN_OR_RETURN(const TokenOutcome outcome, limiter.Take(request, deadline));
  if (!outcome.taken) return Fail(RefusalError(request, outcome));
  return TokenGuard(outcome.available);
}

Error RefusalError(const TokenRequest& request, const TokenOutcome& outcome) {
  const std::string who =
      Describe(AccountKey{std::string(request.resource), std::string(request.account)});
  if (outcome.blocked) {
    return {Code::kResourceExhausted, fmt::format("{} is blocked: its limit is 0 or less", who)};
  }
  return {Code::kResourceExhausted,
          fmt::format("{} has {} tokens, {} were requested; try again in {} ms", who,
                      outcome.available, request.count, outcome.retry_after->count()),
          outcome.retry_after};
}

}  // namespace weir
