// What rate-limiter-py's own tests and a run of its code say (its release 0.3.0), against ours.
#include <gtest/gtest.h>

#include "weir/rate_limiter_py/token_fixture.h"

namespace weir::rate_limiter_py {
namespace {

struct RefillVector {
  std::int64_t tokens;  // that they stored after their take
  std::int64_t passed;  // ms since the refill before
  std::int64_t theirs;  // what they store then
  std::int64_t ours;    // what is there then, that take not undone
};

// Their vectors of a refill: limit 10, window 100 s. They forgive debt (L2), where ours repays it.
// They stop one short of the limit, since their refill belongs to a take that was made before it;
// ours is made after it, and stops at the limit.
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

// Of a take at the limit both leave the same: one short of it.
TEST(TokenVectors, ATakeAfterALongTimeLeavesOneLessThanTheLimit) {
  TokenSim sim;
  sim.Put({{kTokens, 0}, {kLastRefill, kStart.value}});
  EXPECT_EQ(sim.Take(11'500'000)->available, 9);
  EXPECT_EQ(sim.Number(kTokens), 9);
}

struct Trace {
  AccountLimit limit;
  std::int64_t step;  // ms between asks
  int asks;
  int published;  // admitted by the published release
  int repaired;   // admitted by it once the attribute is named right; 0: not measured here
  int ideal;      // limit + rate * span, or all
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

// Each ask is decided as exact arithmetic decides it. The ideal counts the time up to one step
// after the last ask: what is asked then reaches it, to the token.
TEST_P(TokenTraces, L1L2L3AreDecidedExactly) {
  const Trace& trace = GetParam();
  TokenSim sim;
  TokenModel model(trace.limit);
  int admitted = 0;
  for (int i = 0; i <= trace.asks; ++i) {
    const std::int64_t later = i * trace.step;
    const auto answer = sim.Take(later, 1, trace.limit);
    ASSERT_TRUE(answer) << answer.error().message;
    ASSERT_EQ(answer->taken, model.Take(later, 1, trace.limit)) << i;
    ASSERT_EQ(answer->available, model.AvailableAt(later, trace.limit)) << i;
    if (i == trace.asks && trace.ideal < trace.asks) {
      EXPECT_LE(admitted, trace.ideal);
      EXPECT_EQ(admitted + answer->taken, trace.ideal);
    }
    admitted += answer->taken ? 1 : 0;
  }
  if (trace.ideal == trace.asks) {
    EXPECT_EQ(admitted, trace.asks + 1) << "slower than the rate";
  }
}

// The client of the fixture is theirs, defects and all: these are L1, L2 and L3.
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
