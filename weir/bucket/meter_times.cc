#include "weir/bucket/meter_times.h"

#include <algorithm>
#include <cstdint>

namespace weir {
namespace {

__extension__ using WideCount = __int128;

}  // namespace

void Refill(Meter& meter, UnixMillis since, UnixMillis now) {
  if (now <= since) return;
  std::int64_t elapsed = INT64_MAX;
  if (__builtin_sub_overflow(now.value, since.value, &elapsed)) elapsed = INT64_MAX;
  Refill(meter, elapsed);
}

Meter MeterFullIn(const Quota& quota, milliseconds wait) {
  Meter meter = FullMeter(quota);
  if (wait <= milliseconds(0)) return meter;
  const WideCount missing = WideCount{wait.count()} * quota.amount;  // in units of 1 / period
  const WideCount whole = (missing + quota.period - 1) / quota.period;
  if (whole > quota.capacity) {
    meter.tokens = 0;
    return meter;
  }
  meter.tokens = quota.capacity - static_cast<std::int64_t>(whole);
  meter.remainder = static_cast<std::int64_t>(whole * quota.period - missing);
  return meter;
}

std::int64_t LeastFullIn(const Quota& quota, milliseconds wait) {
  if (wait <= milliseconds(0)) return quota.capacity;
  const WideCount earned = WideCount{wait.count()} * quota.amount / quota.period;
  const WideCount balance = quota.capacity - earned;
  return static_cast<std::int64_t>(std::max(balance, WideCount{-kMaxDebt}));
}

UnixMillis FullAt(const Meter& meter, UnixMillis time) {
  return time + RetryAfter(meter, meter.quota.capacity);
}

}  // namespace weir
