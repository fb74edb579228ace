// An object that exists only if tokens were taken.
#pragma once

#include <cstdint>

#include "weir/base/result.h"
#include "weir/reservation/token_limiter.h"

namespace weir {

/// Proof that tokens were taken. It holds no resource and its destructor returns nothing, because
/// tokens are refilled by time.
///
///   WEIR_ASSIGN_OR_RETURN(const TokenGuard token, TokenGuard::Take(limiter, request, deadline));
class [[nodiscard]] TokenGuard {
 public:
  /// Takes tokens and blocks, as TokenLimiter::Take. A refusal becomes the error kResourceExhausted
  /// with its `retry_after`, which is not set if the account is blocked.
  static Result<TokenGuard> Take(TokenLimiter& limiter, const TokenRequest& request,
                                 Deadline deadline);
  TokenGuard(TokenGuard&&) noexcept = default;
  TokenGuard& operator=(TokenGuard&&) noexcept = default;

  /// Returns the whole tokens that were left after the take.
  std::int64_t available() const { return available_; }

 private:
  explicit TokenGuard(std::int64_t available) : available_(available) {}

  std::int64_t available_;
};

/// Returns a refusal as an error. REQUIRES: not outcome.taken.
Error RefusalError(const TokenRequest& request, const TokenOutcome& outcome);

}  // namespace weir
