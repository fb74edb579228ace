#include "weir/aws/retry.h"

#include <utility>

namespace weir {
namespace {

/// A bucket that never refills, because no time passes in it; its period is not used.
Meter QuotaMeter(std::int64_t tokens) { return FullMeter(PerDay(tokens)); }

}  // namespace

RetryQuota::RetryQuota(std::int64_t tokens) : meter_(QuotaMeter(tokens)) {}

bool RetryQuota::Take(std::int64_t tokens) {
  const std::int64_t amount = tokens * kMillitokens;
  if (amount > meter_.tokens) {
    ++refused_;
    return false;
  }
  Debit(meter_, amount);
  return true;
}

void RetryQuota::GiveBack(std::int64_t tokens) { Adjust(meter_, -tokens * kMillitokens); }

RetryPolicy::RetryPolicy(const RetryOptions& options, bool repeatable, Deadline deadline)
    : max_attempts_(options.max_attempts),
      least_time_(options.least_time),
      repeatable_(repeatable),
      deadline_(deadline),
      backoff_(options.base, options.cap) {}

RetryDecision RetryPolicy::OnFailure(const FailedAttempt& failed, Instant now, RetryQuota& quota,
                                     Rng& rng) {
  if (!IsWorthIt(failed)) return {};
  if (failed.kind != FailureClass::kAuth && ++failures_ >= max_attempts_) {
    return {.why_not = "that was the last attempt"};
  }
  const nanoseconds wait = failed.kind == FailureClass::kAuth ? nanoseconds(0) : backoff_.Next(rng);
  if (deadline_.Left(now) < wait + least_time_) return {.why_not = "no time for another try"};
  const std::int64_t cost = failed.timed_out ? kTimeoutRetryCost : kRetryCost;
  if (!quota.Take(cost)) return {.why_not = "this client's quota of retries is used up"};
  success_return_ = cost;
  return {.again = true, .at = now + wait};
}

bool RetryPolicy::IsWorthIt(const FailedAttempt& failed) {
  switch (failed.kind) {
    case FailureClass::kThrottle:
    case FailureClass::kTransient:
      return true;
    case FailureClass::kAmbiguous:
      return repeatable_;
    case FailureClass::kAuth:
      break;
    default:
      return false;
  }
  if (failed.remedy == AuthRemedy::kNone) return false;
  const bool credentials = failed.remedy == AuthRemedy::kFreshCredentials;
  return !std::exchange(credentials ? had_fresh_credentials_ : had_clock_set_, true);
}

}  // namespace weir
