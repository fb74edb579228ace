#include "weir/service/rate_units.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

namespace weir::service {
namespace {

constexpr std::int64_t kSecondMillis = 1'000;
constexpr std::int64_t kDayMillis = 86'400'000;

// The length of each RateUnit in milliseconds. The index is the number of the unit.
constexpr std::array<std::int64_t, 8> kUnitMillis = {
    0,          kSecondMillis,   60'000,           3'600'000,
    kDayMillis, 30 * kDayMillis, 365 * kDayMillis, 7 * kDayMillis};
// From the longest unit to the shortest. A period is stated in the longest unit of which it is a
// multiple: 210 days, for example, are 7 months and not 30 weeks.
constexpr std::array kDescending = {RateUnit::kYear,  RateUnit::kMonth, RateUnit::kWeek,
                                    RateUnit::kDay,   RateUnit::kHour,  RateUnit::kMinute,
                                    RateUnit::kSecond};

std::int64_t MillisOf(RateUnit unit) { return kUnitMillis.at(static_cast<std::size_t>(unit)); }

__extension__ using WideCount = __int128;

std::uint32_t Saturated(WideCount value) {
  return static_cast<std::uint32_t>(std::min<WideCount>(value, UINT32_MAX));
}

std::optional<StatedRate> ExactRate(const Quota& quota) {
  if (quota.amount % kMillitokens != 0) return std::nullopt;
  for (const RateUnit unit : kDescending) {
    if (quota.period % MillisOf(unit) != 0) continue;
    return StatedRate{.requests = Saturated(quota.amount / kMillitokens),
                      .unit = unit,
                      .multiplier = Saturated(quota.period / MillisOf(unit))};
  }
  return std::nullopt;
}

}  // namespace

StatedRate RateOf(const Quota& quota) {
  if (quota.amount == 0 || quota.period == 0) return {.requests = 0, .unit = RateUnit::kSecond};
  if (const auto exact = ExactRate(quota)) return *exact;
  for (std::size_t i = kDescending.size(); i-- > 0;) {
    const RateUnit unit = kDescending[i];
    const WideCount requests = static_cast<WideCount>(quota.amount) * MillisOf(unit) /
                               (static_cast<WideCount>(quota.period) * kMillitokens);
    if (requests > 0) return {.requests = Saturated(requests), .unit = unit};
  }
  return {.requests = 0, .unit = RateUnit::kYear};
}

Result<Quota> QuotaOf(const StatedRate& rate) {
  const auto number = static_cast<std::size_t>(rate.unit);
  if (number == 0 || number >= kUnitMillis.size()) {
    // Units that envoy.type.v3.RateLimitUnit does not have, such as the week, arrive as kUnknown.
    return Fail(Code::kInvalidArgument,
                "the unit of a limit is missing or unknown; it must be 1 (second), 2 (minute), "
                "3 (hour), 4 (day), 5 (month) or 6 (year)");
  }
  const std::int64_t max_multiplier = kMaxPeriodMillis / MillisOf(rate.unit);
  if (rate.multiplier < 1 || rate.multiplier > max_multiplier) {
    return Fail(
        Code::kInvalidArgument,
        fmt::format("the unit_multiplier of a limit is {}; for the unit {} it must be 1 to {}",
                    rate.multiplier, number, max_multiplier));
  }
  const std::int64_t period = MillisOf(rate.unit) * static_cast<std::int64_t>(rate.multiplier);
  if (rate.requests == 0) return Quota{};
  const std::int64_t amount = static_cast<std::int64_t>(rate.requests) * kMillitokens;
  return Quota{.capacity = amount, .amount = amount, .period = period};
}

}  // namespace weir::service
