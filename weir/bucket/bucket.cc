#include "weir/bucket/bucket.h"

#include <algorithm>

namespace weir {
namespace {

__extension__ using Int128 = __int128;

// Converts the remainder to units of the meter's own period. Rounds down, so that no tokens are
// created.
void AlignRemainder(Meter& meter) {
  if (meter.remainder_period == meter.quota.period) return;
  meter.remainder = static_cast<std::int64_t>(Int128{meter.remainder} * meter.quota.period /
                                              meter.remainder_period);
  meter.remainder_period = meter.quota.period;
}

void SetFull(Meter& meter) {
  meter.tokens = meter.quota.capacity;
  meter.remainder = 0;
}

// Adds the earned tokens, up to the capacity. Most refills fit in 64 bits, where a division costs a
// fraction of a 128-bit one.
void AddEarned(Meter& meter, std::int64_t elapsed) {
  const Int128 total = Int128{elapsed} * meter.quota.amount + meter.remainder;
  const std::int64_t room = meter.quota.capacity - meter.tokens;
  if (total <= INT64_MAX) {
    const auto small = static_cast<std::int64_t>(total);
    const std::int64_t earned = small / meter.quota.period;
    if (earned >= room) return SetFull(meter);
    meter.tokens += earned;
    meter.remainder = small - earned * meter.quota.period;
    return;
  }
  const Int128 earned = total / meter.quota.period;
  if (earned >= room) return SetFull(meter);
  meter.tokens += static_cast<std::int64_t>(earned);
  meter.remainder = static_cast<std::int64_t>(total % meter.quota.period);
}

Int128 CeilDiv(Int128 dividend, std::int64_t divisor) { return (dividend + divisor - 1) / divisor; }

bool HasTokens(const Meter& meter, std::int64_t amount) {
  return amount == 0 || meter.tokens >= amount;
}

void AddConsumed(Meter& meter, std::int64_t taken) {
  if (!__builtin_add_overflow(meter.consumed, taken, &meter.consumed)) return;
  meter.consumed = taken > 0 ? INT64_MAX : INT64_MIN;
}

}  // namespace

Meter FullMeter(const Quota& quota) {
  return {.quota = quota, .tokens = quota.capacity, .remainder_period = quota.period};
}

void Refill(Meter& meter, std::int64_t elapsed) {
  if (elapsed <= 0) return;
  // Also repairs a balance above the capacity, which data written by other programs may contain.
  if (meter.tokens >= meter.quota.capacity) return SetFull(meter);
  AlignRemainder(meter);
  AddEarned(meter, elapsed);
}

Earned EarnedIn(const Meter& meter, std::int64_t elapsed) {
  // Above any balance, and low enough that no sum overflows.
  constexpr std::int64_t kNoCeiling = INT64_MAX / 4;
  Meter unlimited = meter;
  unlimited.quota.capacity = kNoCeiling;
  Refill(unlimited, elapsed);
  const std::int64_t whole = unlimited.tokens - meter.tokens;
  return {.whole = whole, .rounded_up = whole + (unlimited.remainder > 0 ? 1 : 0)};
}

void Refill(Bucket& bucket, UnixMillis now) {
  if (now <= bucket.time) return;
  std::int64_t elapsed = INT64_MAX;
  if (__builtin_sub_overflow(now.value, bucket.time.value, &elapsed)) elapsed = INT64_MAX;
  for (Meter& meter : bucket.meters) Refill(meter, elapsed);
  bucket.time = now;
}

milliseconds RetryAfter(const Meter& meter, std::int64_t amount) {
  if (HasTokens(meter, amount)) return milliseconds(0);
  Meter aligned = meter;
  AlignRemainder(aligned);
  const Int128 missing = Int128{amount} - aligned.tokens;
  const Int128 wait =
      CeilDiv(missing * aligned.quota.period - aligned.remainder, aligned.quota.amount);
  return milliseconds(static_cast<std::int64_t>(std::min(wait, Int128{kLongestWait.count()})));
}

milliseconds RetryAfter(const Bucket& bucket, std::span<const std::int64_t> amounts) {
  milliseconds longest(0);
  for (std::size_t i = 0; i < bucket.meters.size(); ++i) {
    longest = std::max(longest, RetryAfter(bucket.meters[i], amounts[i]));
  }
  return longest;
}

bool Take(Bucket& bucket, std::span<const std::int64_t> amounts, UnixMillis now) {
  Refill(bucket, now);
  for (std::size_t i = 0; i < bucket.meters.size(); ++i) {
    if (!HasTokens(bucket.meters[i], amounts[i])) return false;
  }
  Debit(bucket, amounts);
  return true;
}

void Debit(Bucket& bucket, std::span<const std::int64_t> amounts) {
  for (std::size_t i = 0; i < bucket.meters.size(); ++i) Debit(bucket.meters[i], amounts[i]);
}

void Adjust(Bucket& bucket, std::span<const std::int64_t> deltas) {
  for (std::size_t i = 0; i < bucket.meters.size(); ++i) Adjust(bucket.meters[i], deltas[i]);
}

void Debit(Meter& meter, std::int64_t amount) {
  meter.tokens -= amount;
  AddConsumed(meter, amount);
}

bool CanAdjust(const Meter& meter, std::int64_t delta) {
  return delta <= 0 || Int128{meter.tokens} - delta >= -Int128{kMaxDebt};
}

void Adjust(Meter& meter, std::int64_t delta) {
  AddConsumed(meter, delta);
  if (Int128{meter.tokens} - delta >= meter.quota.capacity) return SetFull(meter);
  meter.tokens -= delta;
}

void ChangeQuota(Meter& meter, const Quota& quota) {
  meter.tokens = quota.capacity - (meter.quota.capacity - meter.tokens);
  meter.quota = quota;
}

bool IsFull(const Bucket& bucket, UnixMillis now) { return FullAt(bucket) <= now; }

UnixMillis FullAt(const Bucket& bucket) {
  milliseconds longest(0);
  for (const Meter& meter : bucket.meters) {
    longest = std::max(longest, RetryAfter(meter, meter.quota.capacity));
  }
  return bucket.time + longest;
}

}  // namespace weir
