// The token bucket with exact integers: several limits that share one time.
// Mechanism and proofs: docs/design/bucket.md.
//
// Everything here is a value or a function of `now`: nothing reads a clock, takes a lock or
// allocates. Amounts and tokens are millitokens; times and periods are milliseconds.
#pragma once

#include <absl/container/inlined_vector.h>

#include <cstdint>
#include <span>

#include "weir/base/api.h"
#include "weir/base/time.h"
#include "weir/bucket/quota.h"

namespace weir {

/// The state of one limit. The exact balance is tokens + remainder / remainder_period.
///
/// Invariants: tokens <= quota.capacity; 0 <= remainder < remainder_period;
/// tokens == quota.capacity implies remainder == 0.
struct Meter {
  Quota quota;
  std::int64_t tokens = 0;            ///< negative: debt
  std::int64_t remainder = 0;         ///< the part of a millitoken earned so far ...
  std::int64_t remainder_period = 1;  ///< ... in units of 1 / this: the period it was earned under
  std::int64_t consumed = 0;          ///< net millitokens taken since creation; saturates

  friend bool operator==(const Meter&, const Meter&) = default;
};

/// Most buckets have one or two limits, which are stored inline.
using Meters = absl::InlinedVector<Meter, 2>;

/// The state of all limits of one (entity, resource, shard).
struct Bucket {
  UnixMillis time;  ///< the time to which `meters` are refilled
  Meters meters;

  friend bool operator==(const Bucket&, const Bucket&) = default;
};

/// The largest debt that an adjust may leave.
inline constexpr std::int64_t kMaxDebt = 4'000'000'000'000'000'000;
/// No balance is lower. ChangeQuota may lower one below -kMaxDebt, by less than the old capacity.
inline constexpr std::int64_t kLowestBalance = -(kMaxDebt + kMaxMillitokens);

/// The longest wait that is returned (31,000 years); longer waits are cut to this.
inline constexpr milliseconds kLongestWait{1'000'000'000'000'000};

/// Returns the meter of a limit that was never used. REQUIRES: Validate(quota).
WEIR_API Meter FullMeter(const Quota& quota);

/// Refills one meter for `elapsed` ms: tokens come back at amount / period and stop at the
/// capacity. One refill and several that add up to the same time have the same result. No effect if
/// elapsed <= 0.
WEIR_API void Refill(Meter& meter, std::int64_t elapsed);

/// The millitokens that come back in a time, not limited by the capacity.
struct Earned {
  std::int64_t whole = 0;
  std::int64_t rounded_up = 0;  ///< `whole`, plus one if a part of a millitoken is left over
};
/// Returns the millitokens that `meter` earns in `elapsed` ms. If elapsed <= 0, `whole` is 0 and
/// `rounded_up` counts only the remainder. The meter is not changed.
WEIR_API Earned EarnedIn(const Meter& meter, std::int64_t elapsed);

/// Refills all limits to `now` and sets `time`. No effect if now <= time: while time runs
/// backwards, balances do not change.
WEIR_API void Refill(Bucket& bucket, UnixMillis now);

/// Returns the smallest whole number of ms after which `amount` is available if no other call
/// changes the meter; 0 if it is available now. An amount of 0 is always available, even in debt.
/// At most kLongestWait. REQUIRES: the meter is refilled to now; 0 <= amount <= capacity (a larger
/// amount is never available; callers reject it before, see store/bucket/charge.h).
WEIR_API milliseconds RetryAfter(const Meter& meter, std::int64_t amount);

/// Returns the largest RetryAfter of the limits. REQUIRES: amounts.size() == meters.size().
WEIR_API milliseconds RetryAfter(const Bucket& bucket, std::span<const std::int64_t> amounts);

/// Refills to `now`, then takes all amounts or none. Returns true if it took them. A limit with
/// amount 0 is refilled, but neither tested nor charged. REQUIRES: as RetryAfter.
WEIR_API bool Take(Bucket& bucket, std::span<const std::int64_t> amounts, UnixMillis now);

/// Takes `amount` without a check. REQUIRES: RetryAfter(meter, amount) == 0.
WEIR_API void Debit(Meter& meter, std::int64_t amount);

/// Debit and Adjust for each limit of a bucket.
WEIR_API void Debit(Bucket& bucket, std::span<const std::int64_t> amounts);
WEIR_API void Adjust(Bucket& bucket, std::span<const std::int64_t> deltas);

/// Returns true if Adjust(meter, delta) keeps the debt within kMaxDebt; always true for delta <= 0.
WEIR_API bool CanAdjust(const Meter& meter, std::int64_t delta);

/// Corrects the balance after use. delta > 0 takes the tokens that were used in addition to those
/// taken, and may leave debt. delta < 0 gives tokens back, up to the capacity. REQUIRES: the meter
/// is refilled to now; CanAdjust(meter, delta).
WEIR_API void Adjust(Meter& meter, std::int64_t delta);

/// Changes the parameters and keeps the *used* tokens: tokens' = capacity' - (capacity - tokens).
/// If the parameters are changed back before the next refill, the meter is as before. A refill
/// under another period rounds the remainder down, by less than one millitoken. REQUIRES: the meter
/// is refilled to now under the old parameters; Validate(quota).
WEIR_API void ChangeQuota(Meter& meter, const Quota& quota);

/// Returns true if every limit is at its capacity at `now`.
WEIR_API bool IsFull(const Bucket& bucket, UnixMillis now);

/// Returns the time at which the last limit reaches its capacity if no tokens are taken; `time` if
/// all limits are full already.
WEIR_API UnixMillis FullAt(const Bucket& bucket);

}  // namespace weir
