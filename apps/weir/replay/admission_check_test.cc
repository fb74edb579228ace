#include "apps/weir/replay/admission_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <vector>

namespace weir::app {
namespace {

constexpr std::int64_t kBase = 1'700'158'546'681;

const LimitKey kKey("acme", "llm", "tpm");

LogLine Line(LogOp op, std::int64_t at, std::int64_t amount) {
  return {.at = {kBase + at},
          .entity = "acme",
          .resource = "llm",
          .op = op,
          .outcome = op == LogOp::kTake ? LogOutcome::kAdmitted : LogOutcome::kDone,
          .limit = "tpm",
          .amount = amount};
}
LogLine Take(std::int64_t at, std::int64_t amount) { return Line(LogOp::kTake, at, amount); }
LogLine Adjust(std::int64_t at, std::int64_t amount) { return Line(LogOp::kAdjust, at, amount); }

/// 10 tokens, refilled by 1 per second.
const CheckedLimits kLimits{{kKey, {10'000, 1'000, 1'000}}};

bool Holds(const std::vector<LogLine>& log) { return !FindViolation(log, kLimits).has_value(); }

TEST(FindViolation, TheCapacityAtOnceIsWithinTheBound) {
  EXPECT_TRUE(Holds({Take(0, 4'000), Take(0, 6'000)}));
}

TEST(FindViolation, OneMoreIsNot) { EXPECT_FALSE(Holds({Take(0, 4'000), Take(0, 6'001)})); }

TEST(FindViolation, RefillCountsToTheMillisecond) {
  EXPECT_TRUE(Holds({Take(0, 10'000), Take(2'500, 2'500)}));
  EXPECT_FALSE(Holds({Take(0, 10'000), Take(2'499, 2'500)}));
}

TEST(FindViolation, AnIdleTimeBeforeDoesNotRaiseTheCapacity) {
  EXPECT_FALSE(Holds({Take(0, 1'000), Take(3'600'000, 10'000), Take(3'600'000, 1'000)}));
}

TEST(FindViolation, NamesTheIntervalAndWhatIsInIt) {
  const std::vector<LogLine> log{Take(0, 1'000), Take(100'000, 8'000), Take(101'000, 4'500)};
  const auto violation = FindViolation(log, kLimits);
  ASSERT_TRUE(violation);
  EXPECT_EQ(violation->key, kKey);
  EXPECT_EQ(violation->from.value, kBase + 100'000);
  EXPECT_EQ(violation->to.value, kBase + 101'000);
  EXPECT_EQ(violation->charged, 12'500);
  EXPECT_EQ(violation->allowed, 11'000);
  EXPECT_EQ(TextOf(*violation),
            "limit tpm of entity acme on resource llm: 12.5 tokens charged from "
            "2023-11-16T18:17:26.681Z to "
            "2023-11-16T18:17:27.681Z, but at most 11 allowed");
}

TEST(FindViolation, AnAdjustMayLeaveDebtThatTheNextTakeMustFindRepaid) {
  EXPECT_TRUE(Holds({Take(0, 5'000), Adjust(0, 20'000)}));
  EXPECT_FALSE(Holds({Take(0, 5'000), Adjust(0, 20'000), Take(15'999, 1'000)}));
  EXPECT_TRUE(Holds({Take(0, 5'000), Adjust(0, 20'000), Take(16'000, 1'000)}));
}

TEST(FindViolation, WhatIsGivenBackMayBeTakenAgain) {
  EXPECT_TRUE(Holds({Take(0, 10'000), Adjust(0, -4'000), Take(0, 4'000)}));
  EXPECT_FALSE(Holds({Take(0, 10'000), Adjust(0, -4'000), Take(0, 4'001)}));
}

TEST(FindViolation, RefusedAndImpossibleTakesChargeNothing) {
  LogLine refused = Take(0, 9'000);
  refused.outcome = LogOutcome::kRefused;
  LogLine impossible = Take(0, 99'000);
  impossible.outcome = LogOutcome::kImpossible;
  EXPECT_TRUE(Holds({Take(0, 10'000), refused, impossible}));
}

TEST(FindViolation, ATakeOfNothingNeedsNothing) {
  EXPECT_TRUE(Holds({Adjust(0, 50'000), Take(0, 0)}));
}

TEST(FindViolation, EachLimitOfEachEntityHasABoundOfItsOwn) {
  LogLine other = Take(0, 10'000);
  other.entity = "bolt";
  CheckedLimits limits = kLimits;
  limits[{"bolt", "llm", "tpm"}] = {10'000, 1'000, 1'000};
  EXPECT_FALSE(FindViolation(std::vector{Take(0, 10'000), other}, limits).has_value());
}

TEST(FindViolation, ALimitNobodyKnowsIsABreach) {
  LogLine unknown = Take(0, 1);
  unknown.limit = "rpm";
  EXPECT_FALSE(Holds({unknown}));
}

TEST(FindViolation, LargestNumbersDoNotOverflow) {
  const std::int64_t most = 10'000'000'000'000'000;
  const CheckedLimits limits{{kKey, {most, most, 366LL * 24 * 3600 * 1000}}};
  const std::int64_t year = 366LL * 24 * 3600 * 1000;
  EXPECT_FALSE(FindViolation(std::vector{Take(0, most), Take(year, most)}, limits).has_value());
  EXPECT_TRUE(FindViolation(std::vector{Take(0, most), Take(year - 1, most)}, limits).has_value());
}

/// Checks the definition: every interval, one by one.
bool HoldsByDefinition(const std::vector<LogLine>& log, const CheckedLimit& limit) {
  for (std::size_t j = 0; j < log.size(); ++j) {
    if (log[j].op != LogOp::kTake || log[j].amount == 0) continue;
    for (std::size_t i = 0; i <= j; ++i) {
      std::int64_t sum = 0;
      for (std::size_t k = i; k <= j; ++k) sum += log[k].amount;
      const std::int64_t elapsed = (log[j].at - log[i].at).count();
      if (sum * limit.period > limit.capacity * limit.period + limit.amount * elapsed) return false;
    }
  }
  return true;
}

// Fails if: Charge uses the level after the sum has grown, or keeps the last level instead of the
// lowest.
RC_GTEST_PROP(FindBreachProperty, AgreesWithTheDefinition, ()) {
  const CheckedLimit limit{*rc::gen::inRange<std::int64_t>(1, 60),
                           *rc::gen::inRange<std::int64_t>(1, 20),
                           *rc::gen::inRange<std::int64_t>(1, 30)};
  const auto steps = *rc::gen::container<std::vector<std::tuple<int, int, bool>>>(rc::gen::tuple(
      rc::gen::inRange(0, 40), rc::gen::inRange(-20, 40), rc::gen::arbitrary<bool>()));
  std::vector<LogLine> log;
  std::int64_t at = 0;
  for (const auto& [wait, amount, adjust] : steps) {
    at += wait;
    log.push_back(adjust ? Adjust(at, amount) : Take(at, std::max(amount, 0)));
  }
  const bool holds = !FindViolation(log, {{kKey, limit}}).has_value();
  RC_CLASSIFY(holds);
  RC_ASSERT(holds == HoldsByDefinition(log, limit));
}

}  // namespace
}  // namespace weir::app
