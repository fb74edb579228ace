// Whether and when a call that failed is tried again.
//
// As "standard" mode of AWS's SDKs: full jitter, a bound on attempts, and a quota that all calls of
// a client share, so that a service in trouble is not met with several times the load. Values: the
// caller brings time, randomness and the lock around what is shared.
#pragma once

#include <cstdint>
#include <string_view>

#include "weir/aws/failure.h"
#include "weir/base/rng.h"
#include "weir/bucket/bucket.h"
#include "weir/runtime/backoff.h"
#include "weir/runtime/deadline.h"

namespace weir {

struct RetryOptions {
  /// 1: never again. What failed for rejected credentials or a wrong clock that could be mended
  /// does not count.
  int max_attempts = 5;
  milliseconds base{25};       ///< the first wait is at most this, each further one twice that ...
  milliseconds cap{20'000};    ///< ... up to this; REQUIRES: 0 < base <= cap
  milliseconds least_time{5};  ///< no try begins with less left: it would only add doubt
  std::int64_t quota = 500;    ///< tokens for retries; REQUIRES: >= 1
};

inline constexpr std::int64_t kRetryCost = 5;
inline constexpr std::int64_t kTimeoutRetryCost = 10;
/// What a success gives back that needed no retry. One that did gives back what its last one cost.
inline constexpr std::int64_t kSuccessReturn = 1;

/// Tokens for retries. Time gives none back, successes do.
class RetryQuota {
 public:
  explicit RetryQuota(std::int64_t tokens);
  /// All of them or none.
  bool Take(std::int64_t tokens);
  /// Stops at what it began with.
  void GiveBack(std::int64_t tokens);
  std::int64_t available() const { return meter_.tokens / kMillitokens; }
  std::uint64_t refused() const { return refused_; }  ///< Takes that got nothing

 private:
  Meter meter_;
  std::uint64_t refused_ = 0;
};

struct FailedAttempt {
  FailureClass kind = FailureClass::kPermanent;
  AuthRemedy mend =
      AuthRemedy::kNone;  ///< for kAuth: what was mended, so that it may go better now
  bool timed_out = false;
};

struct RetryDecision {
  bool again = false;
  Instant at;                ///< when, if `again`
  std::string_view why_not;  ///< for people; empty where trying again cannot help
};

/// The retries of one call.
///
/// Tried again: kThrottle and kTransient; kAmbiguous if the call is repeatable; kAuth at once, and
/// once for expired credentials and once for the clock, however many attempts there may be. Never:
/// what would begin after the deadline.
class RetryPolicy {
 public:
  RetryPolicy(const RetryOptions& options, bool repeatable, Deadline deadline);

  /// After each failed attempt. Where the answer is `again`, the quota has paid for it.
  RetryDecision OnFailure(const FailedAttempt& failed, Instant now, RetryQuota& quota, Rng& rng);
  /// After the attempt that ended the call well.
  void OnSuccess(RetryQuota& quota) const { quota.GiveBack(success_return_); }

 private:
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
