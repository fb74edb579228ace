// The parameters of a limit: a capacity, and an amount that comes back in each period.
#pragma once

#include <chrono>
#include <cstdint>

#include "weir/base/api.h"
#include "weir/base/result.h"

namespace weir {

/// Tokens are counted in whole thousandths everywhere, except in texts for users.
inline constexpr std::int64_t kMillitokens = 1000;

/// Largest capacity or amount: 10^13 tokens.
inline constexpr std::int64_t kMaxMillitokens = 10'000'000'000'000 * kMillitokens;
/// Longest period: 366 days.
inline constexpr std::int64_t kMaxPeriodMillis = 366LL * 24 * 3600 * 1000;

/// Returns whole tokens in millitokens. A number that does not fit saturates, so that Validate
/// refuses it.
constexpr std::int64_t SaturatedMillitokens(std::int64_t tokens) {
  if (tokens > INT64_MAX / kMillitokens) return INT64_MAX;
  if (tokens < INT64_MIN / kMillitokens) return INT64_MIN;
  return tokens * kMillitokens;
}

/// `amount` millitokens come back in each `period` milliseconds, up to `capacity` millitokens.
/// Capacity may exceed the amount (burst) or be less.
struct Quota {
  std::int64_t capacity = 0;
  std::int64_t amount = 0;
  std::int64_t period = 0;

  /// Returns the same rate with a capacity of `tokens` whole tokens: `PerSecond(1000).Burst(100)`.
  constexpr Quota Burst(std::int64_t tokens) const {
    return {SaturatedMillitokens(tokens), amount, period};
  }

  friend constexpr bool operator==(Quota, Quota) = default;
};

/// Returns a quota of `tokens` whole tokens in each period. The capacity is `tokens` too; `Burst`
/// changes it.
constexpr Quota PerPeriod(std::int64_t tokens, std::chrono::milliseconds period) {
  return {SaturatedMillitokens(tokens), SaturatedMillitokens(tokens), period.count()};
}
constexpr Quota PerSecond(std::int64_t tokens) {
  return PerPeriod(tokens, std::chrono::seconds(1));
}
constexpr Quota PerMinute(std::int64_t tokens) {
  return PerPeriod(tokens, std::chrono::minutes(1));
}
constexpr Quota PerHour(std::int64_t tokens) { return PerPeriod(tokens, std::chrono::hours(1)); }
constexpr Quota PerDay(std::int64_t tokens) { return PerPeriod(tokens, std::chrono::hours(24)); }

/// Returns kInvalidArgument, with the name of the field, unless 1 <= capacity, amount <=
/// kMaxMillitokens and 1 <= period <= kMaxPeriodMillis.
[[nodiscard]] WEIR_API Status Validate(const Quota& quota);

}  // namespace weir
