#include "weir/bucket/gcra.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <numeric>

namespace weir {
namespace {

__extension__ using Uint128 = unsigned __int128;

constexpr std::uint64_t kYear = 365ULL * 24 * 3600 * 1'000'000'000;
constexpr std::uint64_t kShortestLife = 10 * kYear;
constexpr std::uint64_t kLongestFill = 100 * kYear;
constexpr float kLargestError = 0.1F;

constexpr std::uint64_t kNanosPerMilli = 1'000'000;

// The exact interval between two tokens, nanos / per nanoseconds, in lowest terms.
struct Interval {
  Uint128 nanos;
  std::uint64_t per;
};

Interval IntervalOf(const Quota& quota) {
  const auto amount = static_cast<std::uint64_t>(quota.amount);
  const Uint128 nanos = Uint128{static_cast<std::uint64_t>(quota.period)} * kNanosPerMilli *
                        static_cast<std::uint64_t>(kMillitokens);
  const std::uint64_t divisor = std::gcd(static_cast<std::uint64_t>(nanos % amount), amount);
  return {nanos / divisor, amount / divisor};
}

// A time unit of 1/units ns, with the cost of a token in this unit and the error of the cost.
struct Unit {
  std::uint64_t units = 0;
  Uint128 cost = 0;
  Uint128 excess = 0;  // cost - exact cost, in units / per; never negative
};

Unit InUnits(const Interval& interval, std::uint64_t units) {
  const Uint128 exact = interval.nanos * units;
  const Uint128 cost = (exact + interval.per - 1) / interval.per;
  return {units, cost, cost * interval.per - exact};
}

// Compares errors relative to the cost, which is proportional to `units`.
bool LessExcess(const Unit& a, const Unit& b) { return a.excess * b.units < b.excess * a.units; }

// Returns the unit with the smallest relative error among those of 1/1 to 1/max_units ns. If
// several errors are equal, returns the coarsest unit, because it gives the word the longest
// lifetime.
Unit BestUnit(const Interval& interval, std::uint64_t max_units) {
  Unit best = InUnits(interval, 1);
  for (std::uint64_t units = 2; units <= max_units && best.excess > 0; ++units) {
    const Unit unit = InUnits(interval, units);
    if (LessExcess(unit, best)) best = unit;
  }
  return best;
}

Gcra Build(const Quota& quota, const Interval& interval, const Unit& unit) {
  const auto cost = static_cast<std::uint64_t>(unit.cost);
  const auto span = static_cast<std::uint64_t>(Uint128{static_cast<std::uint64_t>(quota.capacity)} *
                                               cost / static_cast<std::uint64_t>(kMillitokens));
  // A word is at most one span ahead of now, and a take tests one span further.
  const std::uint64_t life = (UINT64_MAX - 2 * span) / unit.units;
  return {.cost = cost,
          .span = span,
          .capacity = static_cast<std::uint64_t>(quota.capacity / kMillitokens),
          .life_nanos = std::min<std::uint64_t>(life, INT64_MAX),
          .units_per_nano = static_cast<std::uint32_t>(unit.units),
          .rate_error =
              static_cast<float>(unit.excess) / static_cast<float>(interval.nanos * unit.units)};
}

}  // namespace

Result<Gcra> Gcra::For(const Quota& quota) {
  WEIR_RETURN_IF_ERROR(Validate(quota));
  if (quota.capacity < kMillitokens) {
    return Fail(Code::kInvalidArgument,
                fmt::format("capacity is {} millitokens, a limiter inside the process counts whole "
                            "tokens: at least {}",
                            quota.capacity, kMillitokens));
  }
  const Uint128 fill = Uint128{static_cast<std::uint64_t>(quota.capacity)} *
                       static_cast<std::uint64_t>(quota.period) * kNanosPerMilli /
                       static_cast<std::uint64_t>(quota.amount);
  if (fill > kLongestFill) {
    return Fail(Code::kInvalidArgument,
                "capacity takes more than 100 years to come back, allowed are 100 years");
  }
  const std::uint64_t max_units =
      UINT64_MAX / (kShortestLife + 2 * static_cast<std::uint64_t>(fill));
  const Interval interval = IntervalOf(quota);
  const Unit unit = BestUnit(interval, max_units);
  const Gcra gcra = Build(quota, interval, unit);
  if (gcra.rate_error > kLargestError) {
    return Fail(Code::kInvalidArgument,
                fmt::format("amount is {} millitokens in {} ms, too fast for a limiter inside the "
                            "process: at most about 50 tokens a nanosecond",
                            quota.amount, quota.period));
  }
  return gcra;
}

Gcra Gcra::Require(const Quota& quota) {
  const Result<Gcra> gcra = For(quota);
  if (gcra) return *gcra;
  AbortForInvalidLimit(gcra.error());
}

void AbortForInvalidLimit(const Error& error) {
  fmt::print(stderr, "weir: a limiter cannot be constructed: {}\n", error.message);
  std::abort();
}

nanoseconds Gcra::RetryAfter(std::uint64_t word, std::int64_t elapsed_nanos, std::int64_t n) const {
  if (n <= 0) return nanoseconds(0);
  if (!CanAdmit(n)) return kNever;
  const std::uint64_t ahead = word + static_cast<std::uint64_t>(n) * cost;
  if (ahead <= At(elapsed_nanos) + span) return nanoseconds(0);
  const std::uint64_t units = ahead - span;
  const std::uint64_t nanos = units / units_per_nano + (units % units_per_nano != 0 ? 1 : 0);
  if (nanos > life_nanos) return kNever;
  std::int64_t wait = 0;
  if (__builtin_sub_overflow(static_cast<std::int64_t>(nanos), elapsed_nanos, &wait)) return kNever;
  return nanoseconds(wait);
}

}  // namespace weir
