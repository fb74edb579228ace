// One scope, one token.
#pragma once

#include <cstdint>

#include "weir/base/result.h"
#include "weir/reservation/token_limiter.h"

namespace weir {

/// Says that tokens were taken: where there is one, the caller was not refused. Holds nothing and
/// gives nothing back, since time restores tokens.
///
///   WEIR_ASSIGN_OR_RETURN(const TokenGuard token, TokenGuard::Take(limiter, request, deadline));
class [[nodiscard]] TokenGuard {
 public:
  /// Blocks, as TokenLimiter::Take. A refusal is kResourceExhausted with its `retry_after`; without
  /// one where the account is blocked.
  static Result<TokenGuard> Take(TokenLimiter& limiter, const TokenRequest& request,
                                 Deadline deadline);
  TokenGuard(TokenGuard&&) noexcept = default;
  TokenGuard& operator=(TokenGuard&&) noexcept = default;

  /// Whole tokens that were left then.
  std::int64_t available() const { return available_; }

 private:
  explicit TokenGuard(std::int64_t available) : available_(available) {}

  std::int64_t available_;
};

/// The error that a refusal is for those who know no refusals. REQUIRES: not outcome.taken.
Error RefusalError(const TokenRequest& request, const TokenOutcome& outcome);

}  // namespace weir
