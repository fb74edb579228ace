// The test vectors of rate-limiter-py 0.3.0 and results of a run of its code, compared with ours.
#include <gtest/gtest.h>

#include "weir/rate_limiter_py/testing/token_fixture.h"

namespace weir::rate_limiter_py {
namespace {

struct RefillVector {
  std::int64_t tokens;  // stored by them after their take
  std::int64_t passed;  // ms since the last refill
  std::int64_t theirs;  // stored by them afterwards
  std::int64_t ours;    // available for ours then; the take is not undone
};

// Their vectors of a refill: limit 10, window 100 s. They discard debt (L2), ours repays it. They
// stop one token below the limit, because their refill belongs to a take before it; ours precedes
// the take, and stops at the limit.
TEST(TokenVectors, ARefillAddsWhatTimeGives) {
  for (const RefillVector& v : {RefillVector{5, 30'000, 8, 8}, RefillVector{-7, 30'000, 3, -4},
                                RefillVector{0, 11'500'000, 9, 10}}) {
    const TokenImage image{.tokens = v.tokens, .last_refill = kStart.value};
    EXPECT_EQ(AvailableAt(image, kTenPer100, kStart + milliseconds(v.passed)), v.ours);

    TokenSim sim;
    PyClient client(sim, PyClient::Release::kRepaired);
    sim.Put({{kTokens, v.tokens}, {kLastRefill, kStart.value}});
    client.RefillStep(*sim.Item(), v.passed);
    EXPECT_EQ(sim.Number(kTokens), v.theirs);
  }
}

// After a take at the limit both leave the same: one token less than the limit.
TEST(TokenVectors, ATakeAfterALongTimeLeavesOneLessThanTheLimit) {
  TokenSim sim;
  sim.Put({{kTokens, 0}, {kLastRefill, kStart.value}});
  EXPECT_EQ(sim.Take(11'500'000)->available, 9);
  EXPECT_EQ(sim.Number(kTokens), 9);
}

struct Trace {
  AccountLimit limit;
  std::int64_t step;  // ms between takes
  int asks;
  int published;  // admitted by the published release
  int repaired;   // admitted by it with the right name of the attribute; 0: not measured
  int ideal;      // limit + rate * span, or all takes
};
constexpr Trace kTraces[] = {
    {{10, std::chrono::seconds(1)}, 1, 300, 300, 14, 13},
    {{10, std::chrono::seconds(100)}, 1, 200, 200, 10, 10},
    {{2, std::chrono::seconds(60)}, 1000, 60, 60, 4, 4},
    {{1, std::chrono::seconds(10)}, 1000, 60, 6, 6, 7},
    {{10, std::chrono::seconds(100)}, 5000, 80, 80, 44, 50},
    {{10, std::chrono::seconds(100)}, 10'001, 60, 60, 60, 60},
    {{10, std::chrono::seconds(1)}, 1, 5000, 0, 106, 60},
    {{10, std::chrono::seconds(100)}, 1000, 2000, 0, 340, 210},
    {{100, std::chrono::seconds(60)}, 100, 6000, 0, 1574, 1100},
};

class TokenTraces : public testing::TestWithParam<Trace> {};

// Each take is decided as by exact arithmetic. The ideal counts the time up to one step after the
// last take, which reaches it exactly.
TEST_P(TokenTraces, L1L2L3AreDecidedExactly) {
  const Trace& trace = GetParam();
  TokenSim sim;
  TokenModel model(trace.limit);
  int admitted = 0;
  for (int i = 0; i <= trace.asks; ++i) {
    const std::int64_t later = i * trace.step;
    const auto result = sim.Take(later, 1, trace.limit);
    ASSERT_TRUE(result) << result.error().message;
    ASSERT_EQ(result->taken, model.Take(later, 1, trace.limit)) << i;
    ASSERT_EQ(result->available, model.AvailableAt(later, trace.limit)) << i;
    if (i == trace.asks && trace.ideal < trace.asks) {
      EXPECT_LE(admitted, trace.ideal);
      EXPECT_EQ(admitted + result->taken, trace.ideal);
    }
    admitted += result->taken ? 1 : 0;
  }
  if (trace.ideal == trace.asks) {
    EXPECT_EQ(admitted, trace.asks + 1) << "slower than the rate";
  }
}

// The client of the fixture has the defects of rate-limiter-py: these are L1, L2 and L3.
TEST_P(TokenTraces, AreWhatTheirCodeWasSeenToDo) {
  const Trace& trace = GetParam();
  for (const auto release : {PyClient::Release::kPublished, PyClient::Release::kRepaired}) {
    const int measured =
        release == PyClient::Release::kPublished ? trace.published : trace.repaired;
    if (measured == 0) continue;
    TokenSim sim;
    PyClient client(sim, release, trace.limit);
    int admitted = 0;
    for (int i = 0; i < trace.asks; ++i) admitted += client.GetToken(i * trace.step) ? 1 : 0;
    EXPECT_EQ(admitted, measured);
  }
}

INSTANTIATE_TEST_SUITE_P(Measured, TokenTraces, testing::ValuesIn(kTraces));

}  // namespace
}  // namespace weir::rate_limiter_py
