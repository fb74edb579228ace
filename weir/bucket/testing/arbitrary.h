// Random inputs for the property tests of this module. For tests only.
#pragma once

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/detail/Configuration.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "weir/bucket/fast_clock.h"
#include "weir/bucket/quota.h"

namespace weir {

/// Cases are cheap here, so each property runs with 2000 cases instead of RapidCheck's default of
/// 100, unless RC_PARAMS is set in the environment. RapidCheck reads its configuration once, in the
/// first property. gtest calls SetUp before every test, and the test run fails if the number did
/// not count.
class MoreCases final : public testing::Environment {
 public:
  void SetUp() override {
    constexpr int kCases = 2000;
    if (std::getenv("RC_PARAMS") != nullptr) return;
    setenv("RC_PARAMS", ("max_success=" + std::to_string(kCases)).c_str(), 1);
    ASSERT_EQ(rc::detail::configuration().testParams.maxSuccess, kCases);
  }
};
[[maybe_unused]] inline testing::Environment* const kMoreCases =
    testing::AddGlobalTestEnvironment(new MoreCases);

/// Returns a number in [0, high). The whole range is used from the first case on.
inline int UniformBelow(int high) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(0, high));
}

inline bool AnyBool() { return UniformBelow(2) == 0; }

/// Returns a number in [1, high]. Each number of bits is equally likely, so small and huge numbers
/// occur together.
inline std::int64_t LogUniformUpTo(std::int64_t high) {
  const int bits = 1 + UniformBelow(64 - __builtin_clzll(static_cast<std::uint64_t>(high)));
  const auto any = *rc::gen::resize(rc::kNominalSize, rc::gen::arbitrary<std::uint64_t>());
  const auto drawn = static_cast<std::int64_t>(any & ((std::uint64_t{1} << bits) - 1));
  return std::clamp<std::int64_t>(drawn, 1, high);
}

inline Quota AnyQuota() {
  return {LogUniformUpTo(kMaxMillitokens), LogUniformUpTo(kMaxMillitokens),
          LogUniformUpTo(kMaxPeriodMillis)};
}

inline constexpr std::int64_t kNanosPerMilli = 1'000'000;

/// A clock that advances only when a test moves it. It starts at a large odd time.
struct ManualTime {
  std::atomic<std::int64_t> nanos{86'400'000'000'007};

  CachedClock clock() const { return CachedClock(nanos); }
  void Advance(std::int64_t by) { nanos.fetch_add(by); }
};

}  // namespace weir
