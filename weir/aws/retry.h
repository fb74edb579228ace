// The decision whether and when a failed call is retried.
//
// Like "standard" mode of AWS's SDKs: full jitter, a bound on attempts, and a quota that all calls
// of a client share, so that a failing service does not get several times the load. Not
// thread-safe, no I/O: the caller passes in time and randomness, and locks the shared quota.
#pragma once

#include <cstdint>
#include <string_view>

#include "weir/aws/failure.h"
#include "weir/base/api.h"
#include "weir/base/rng.h"
#include "weir/bucket/bucket.h"
#include "weir/runtime/backoff.h"
#include "weir/runtime/deadline.h"

namespace weir {

struct RetryOptions {
  /// 1: no retries. An attempt does not count if it failed because of rejected credentials or a
  /// wrong clock, and the cause could be corrected.
  int max_attempts = 5;
  /// The bound of the first wait, which is random. It doubles with each further wait, up to `cap`.
  /// REQUIRES: 0 < base <= cap.
  milliseconds base{25};
  milliseconds cap{20'000};
  /// There is no retry if less time would be left after the wait: it would only add a request of
  /// unknown outcome.
  milliseconds least_time{5};
  std::int64_t quota = 500;  ///< tokens for retries; REQUIRES: >= 1
};

inline constexpr std::int64_t kRetryCost = 5;
inline constexpr std::int64_t kTimeoutRetryCost = 10;
/// Tokens that a success without retries returns. A success after retries returns the cost of the
/// last retry.
inline constexpr std::int64_t kSuccessReturn = 1;

/// The tokens for retries. They are refilled by successes, not by time.
class WEIR_API RetryQuota {
 public:
  explicit RetryQuota(std::int64_t tokens);
  /// Takes all of the tokens or none. Returns whether it took them.
  bool Take(std::int64_t tokens);
  /// Adds tokens, up to the initial number.
  void GiveBack(std::int64_t tokens);
  std::int64_t available() const { return meter_.tokens / kMillitokens; }
  std::uint64_t refused() const { return refused_; }  ///< calls of Take that returned false

 private:
  Meter meter_;
  std::uint64_t refused_ = 0;
};

struct FailedAttempt {
  FailureClass kind = FailureClass::kPermanent;
  AuthRemedy remedy = AuthRemedy::kNone;  ///< for kAuth: the remedy that was applied
  bool timed_out = false;
};

struct RetryDecision {
  bool again = false;
  Instant at;                ///< the time of the retry, if `again`
  std::string_view why_not;  ///< for error messages; empty if a retry cannot help
};

/// The retries of one call.
///
/// Retried are: kThrottle and kTransient; kAmbiguous if the call is repeatable; kAuth at once, but
/// only once for expired credentials and once for the clock, independently of the bound on
/// attempts. Nothing is retried after the deadline.
class WEIR_API RetryPolicy {
 public:
  RetryPolicy(const RetryOptions& options, bool repeatable, Deadline deadline);

  /// To be called after each failed attempt. If the result is `again`, the quota has been charged.
  RetryDecision OnFailure(const FailedAttempt& failed, Instant now, RetryQuota& quota, Rng& rng);
  /// To be called after a successful attempt.
  void OnSuccess(RetryQuota& quota) const { quota.GiveBack(success_return_); }

 private:
  /// Returns whether a retry may help. Remembers which remedies have been used.
  bool IsWorthIt(const FailedAttempt& failed);

  int max_attempts_;
  milliseconds least_time_;
  bool repeatable_;
  Deadline deadline_;
  Backoff backoff_;
  int failures_ = 0;
  bool had_fresh_credentials_ = false;
  bool had_clock_set_ = false;
  std::int64_t success_return_ = kSuccessReturn;
};

}  // namespace weir
