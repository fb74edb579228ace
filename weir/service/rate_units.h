// Rates in the units of Envoy's messages: requests in a number of seconds, minutes, hours, days,
// weeks, months of 30 days or years of 365 days.
#pragma once

#include <cstdint>

#include "weir/base/result.h"
#include "weir/model/limit.h"

namespace weir::service {

/// The numbers are those of envoy.service.ratelimit.v3.RateLimitResponse.RateLimit.Unit; those of
/// envoy.type.v3.RateLimitUnit are the same, without the week.
enum class RateUnit { kUnknown, kSecond, kMinute, kHour, kDay, kMonth, kYear, kWeek };

/// `requests` in each `multiplier` units.
struct StatedRate {
  std::uint32_t requests = 0;
  RateUnit unit = RateUnit::kUnknown;
  std::uint32_t multiplier = 1;

  friend bool operator==(const StatedRate&, const StatedRate&) = default;
};

/// Returns the refill of the quota in the largest unit of which its period is a multiple. A rate
/// that cannot be stated in whole requests is rounded down, in the smallest unit in which it is at
/// least one request.
StatedRate RateOf(const Quota& quota);

/// Returns a quota with this refill, and one period's requests as its capacity. A rate of 0
/// requests blocks (Blocks). Fails with kInvalidArgument if the unit is unknown, the multiplier 0,
/// or the period longer than kMaxPeriodMillis.
[[nodiscard]] Result<Quota> QuotaOf(const StatedRate& rate);

}  // namespace weir::service
