#include "weir/model/reserved_allowance.h"

#include <algorithm>

#include "weir/bucket/bucket.h"

namespace weir {

std::int64_t RateTimes(const Quota& quota, milliseconds time) {
  Meter meter = FullMeter({kMaxMillitokens, quota.amount, quota.period});
  meter.tokens = 0;
  Refill(meter, time.count());
  return meter.tokens + (meter.remainder > 0);
}

std::vector<Limit> ReserveAllowance(std::vector<Limit> limits) {
  for (Limit& limit : limits) {
    if (limit.allowance <= milliseconds(0)) continue;
    const std::int64_t reserved = RateTimes(limit.quota, limit.allowance);
    const std::int64_t min_capacity = std::max((limit.quota.capacity + 1) / 2, kMillitokens);
    if (reserved > limit.quota.capacity - min_capacity) {
      limit.allowance = milliseconds(0);
    } else {
      limit.quota.capacity -= reserved;
    }
  }
  return limits;
}

std::int64_t ReservedFor(const Limit& limit) { return RateTimes(limit.quota, limit.allowance); }

}  // namespace weir
