// The one token bucket: exact integers, several limits that share one time.
// Mechanism and proofs: docs/design/bucket.md.
//
// All of it is values and functions of `now`; nothing here reads a clock, locks or allocates.
// Amounts and tokens are millitokens, times and periods milliseconds.
#pragma once

#include <absl/container/inlined_vector.h>

#include <cstdint>
#include <span>

#include "weir/base/time.h"
#include "weir/bucket/quota.h"

namespace weir {

/// One limit's state. The exact balance is tokens + remainder / remainder_period.
///
/// Invariants: tokens <= quota.capacity; 0 <= remainder < remainder_period;
/// tokens == quota.capacity implies remainder == 0.
struct Meter {
  Quota quota;
  std::int64_t tokens = 0;            ///< negative: debt
  std::int64_t remainder = 0;         ///< the part of a millitoken already earned ...
  std::int64_t remainder_period = 1;  ///< ... in these units; the period it was earned under
  std::int64_t consumed = 0;          ///< net taken since creation; saturates

  friend bool operator==(const Meter&, const Meter&) = default;
};

/// Most buckets have one limit or two; these stand in the bucket itself.
using Meters = absl::InlinedVector<Meter, 2>;

/// The state of all limits of one (entity, resource, shard).
struct Bucket {
  UnixMillis time;  ///< up to when `meters` are refilled
  Meters meters;

  friend bool operator==(const Bucket&, const Bucket&) = default;
};

/// Debt goes down to this and no further.
inline constexpr std::int64_t kMaxDebt = 4'000'000'000'000'000'000;

/// Waits are told up to this (31,000 years); a longer one is told as this.
inline constexpr milliseconds kLongestWait{1'000'000'000'000'000};

/// A limit that was never used. REQUIRES: Validate(quota).
Meter FullMeter(const Quota& quota);

/// Refills one meter for `elapsed` ms: tokens come back at amount / period and stop at capacity.
/// In k steps or in one, the result is the same. No effect if elapsed <= 0.
void Refill(Meter& meter, std::int64_t elapsed);

/// What comes back in a time, whether or not there is room for it.
struct Earned {
  std::int64_t whole = 0;
  std::int64_t rounded_up = 0;  ///< one more where a part was earned beside
};
/// Nothing if elapsed <= 0, but for the part that was there. The meter stays as it is.
Earned EarnedIn(const Meter& meter, std::int64_t elapsed);

/// Brings all limits to `now` and sets `time`. No effect if now <= time: time that runs backwards
/// neither gives nor takes.
void Refill(Bucket& bucket, UnixMillis now);

/// Smallest whole number of ms after which `amount` is there if nothing else happens; 0 if it is
/// there now. An amount of 0 is never short, even in debt. At most kLongestWait.
/// REQUIRES: the meter is refilled to now; 0 <= amount <= capacity (more is "never": the caller's
/// error, see store/charge.h).
milliseconds RetryAfter(const Meter& meter, std::int64_t amount);

/// The largest RetryAfter over the limits. REQUIRES: amounts.size() == meters.size().
milliseconds RetryAfter(const Bucket& bucket, std::span<const std::int64_t> amounts);

/// Takes all amounts at `now`, or none: true if it took. Limits with amount 0 are neither tested
/// nor changed (but refilled). REQUIRES: as RetryAfter.
bool Take(Bucket& bucket, std::span<const std::int64_t> amounts, UnixMillis now);

/// Takes without asking. REQUIRES: RetryAfter(meter, amount) == 0.
void Debit(Meter& meter, std::int64_t amount);

/// Debit and Adjust for each limit of a bucket.
void Debit(Bucket& bucket, std::span<const std::int64_t> amounts);
void Adjust(Bucket& bucket, std::span<const std::int64_t> deltas);

/// True if Adjust(meter, delta) keeps debt within kMaxDebt; always for delta <= 0.
bool CanAdjust(const Meter& meter, std::int64_t delta);

/// delta > 0: what was really used beyond what was taken; may leave debt. delta < 0: gives back,
/// and stops at capacity. REQUIRES: the meter is refilled to now; CanAdjust(meter, delta).
void Adjust(Meter& meter, std::int64_t delta);

/// New parameters keep what is *used*: tokens' = capacity' - (capacity - tokens). Changed back
/// before the next refill, the meter is what it was; a refill under another period rounds the
/// remainder down (by less than one millitoken).
/// REQUIRES: the meter is refilled to now, under the old parameters; Validate(quota).
void ChangeQuota(Meter& meter, const Quota& quota);

/// True if at `now` every limit is back at its capacity.
bool IsFull(const Bucket& bucket, UnixMillis now);

/// When the last limit will be at its capacity if nothing is taken; `time` if it is now.
UnixMillis FullAt(const Bucket& bucket);

}  // namespace weir
