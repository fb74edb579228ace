// A take with failures and with concurrent writers.
#include "weir/rate_limiter_py/tokens/token_take.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/rate_limiter_py/testing/token_fixture.h"

namespace weir::rate_limiter_py {
namespace {

using dynamo::DirectClient;
using Fault = DirectClient::Fault;
using testing::HasSubstr;

class TokenTakeTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(t_.Take(0)->taken); }
  // From now on the next write fails, but no read.
  void FailOneWrite(Fault fault) {
    t_.sim.client.FailFrom(1, fault);
    t_.sim.client.before_each = [this](const JsonCall& call) {
      if (call.operation == "GetItem") t_.sim.client.Heal();
    };
  }

  TokenSim t_;
};

TEST_F(TokenTakeTest, AnAnswerThatWasLostIsFoundInTheItem) {
  FailOneWrite(Fault::kLostResponse);
  const auto result = t_.Take(1);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_TRUE(result->taken);
  EXPECT_EQ(result->available, 8);
  EXPECT_EQ(t_.Number(kTokens), 8);
}

TEST_F(TokenTakeTest, WhatWasNeverSentTookNothing) {
  FailOneWrite(Fault::kUnsent);
  const auto result = t_.Take(1);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::kUnavailable);
  t_.sim.client.Heal();
  EXPECT_EQ(t_.Number(kTokens), 9);
}

TEST_F(TokenTakeTest, AnAnswerThatWasLostAndCoveredIsInDoubt) {
  FailOneWrite(Fault::kLostResponse);
  TokenTable other(t_.sim.table, {.seed = 2});
  t_.sim.client.before_each = [&](const JsonCall& call) {
    if (call.operation != "GetItem") return;
    t_.sim.client.Heal();
    ASSERT_TRUE(t_.Take(other, 1)->taken);
  };
  const auto result = t_.Take(1);
  t_.sim.client.before_each = nullptr;
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::kUnavailable);
  EXPECT_THAT(result.error().message, HasSubstr("tokens of emr for acme: "));
  EXPECT_THAT(result.error().message, HasSubstr("1 may have been taken"));
  EXPECT_EQ(t_.Number(kTokens), 7);
}

// An internal error of the server: the write may still be applied, so it is not repeated.
TEST_F(TokenTakeTest, WhatMayYetBeAppliedIsNotRepeated) {
  const std::uint64_t before = t_.writes();
  t_.sim.client.before_each = [&](const JsonCall& call) {
    t_.sim.client.refusal = call.operation == "UpdateItem" ? "InternalServerError" : "";
  };
  const std::uint64_t calls = t_.sim.client.calls();
  const auto result = t_.Take(1);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::kUnavailable);
  EXPECT_THAT(result.error().message, HasSubstr("may have been taken"));
  EXPECT_EQ(t_.sim.client.calls() - calls, 2U) << "a write and a read";
  EXPECT_EQ(t_.writes(), before);
}

TEST_F(TokenTakeTest, TimeThatRanOutSaysSo) {
  TokenTake take({.key = kKey, .limit = kTenPer100, .count = 2, .now = kStart, .take = "f00d"});
  ASSERT_TRUE(take.Begin(std::nullopt).write);
  const TakeStep doubt = take.OnWrite(tl::unexpected(
      dynamo::WriteFailure{.kind = FailureClass::kDeadline,
                           .error = {Code::kDeadlineExceeded, "UpdateItem: time is over"},
                           .maybe_applied = true}));
  ASSERT_TRUE(doubt.read);
  const TakeStep end = take.OnRead(Fail(Code::kDeadlineExceeded, "GetItem: time is over"));
  ASSERT_TRUE(end.result);
  EXPECT_EQ(end.result->error().code, Code::kDeadlineExceeded);
  EXPECT_THAT(end.result->error().message, HasSubstr("2 may have been taken"));
}

// Whichever request fails, a take that reports success took exactly once, and any other at most
// once.
TEST_F(TokenTakeTest, CountsOnceWhateverFails) {
  for (const Fault fault : {Fault::kUnsent, Fault::kLostResponse}) {
    bool succeeded = false;
    for (std::uint64_t nth = 1; !succeeded; ++nth) {
      ASSERT_LE(nth, 4U);
      TokenSim sim;
      sim.Put({{kTokens, 5}, {kLastRefill, kStart.value}});
      sim.sim.client.FailFrom(nth, fault);
      const auto result = sim.Take(0);
      sim.sim.client.Heal();
      const std::int64_t took = 5 - sim.Number(kTokens);
      succeeded = result.has_value();
      EXPECT_GE(took, succeeded ? 1 : 0) << nth;
      EXPECT_LE(took, 1) << nth;
    }
  }
}

TEST_F(TokenTakeTest, SomebodyWhoTakesTheLastOneRefusesIt) {
  TokenTable other(t_.sim.table, {.seed = 2});
  bool first = true;
  t_.sim.client.before_each = [&](const JsonCall&) {
    if (!std::exchange(first, false)) return;
    ASSERT_TRUE(t_.Take(other, 1, 9)->taken);
  };
  const auto result = t_.Take(1);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_FALSE(result->taken);
  EXPECT_EQ(result->retry_after, milliseconds(9999));
}

// L4: no take is overwritten. Ours commute while there are enough tokens.
TEST_F(TokenTakeTest, L4TakesAtTheSameTimeAllCount) {
  std::vector<std::unique_ptr<TokenTable>> others;
  for (std::uint64_t seed = 2; seed < 7; ++seed) {
    others.push_back(std::make_unique<TokenTable>(t_.sim.table, TokenTableOptions{.seed = seed}));
    ASSERT_TRUE(t_.Take(*others.back(), 1)->taken);
  }
  EXPECT_EQ(t_.Number(kTokens), 4);
  t_.sim.client.before_each = [&](const JsonCall&) {
    ASSERT_TRUE(t_.Take(*others[0], 2)->taken);
    ASSERT_TRUE(t_.Take(*others[1], 2)->taken);
  };
  const std::uint64_t before = t_.writes();
  EXPECT_EQ(t_.Take(2)->available, 1);
  EXPECT_EQ(t_.writes() - before, 3U) << "none of them had to be repeated";
}

TEST_F(TokenTakeTest, GivesUpWhereOthersAlwaysWin) {
  std::int64_t moved = kStart.value;
  t_.sim.client.before_each = [&](const JsonCall&) {
    t_.Put({{kTokens, 9}, {kLastRefill, ++moved}});
  };
  const auto result = t_.Take(50'000);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::kAborted);
  EXPECT_THAT(result.error().message, HasSubstr("20 writes lost"));
  EXPECT_TRUE(result.error().retry_after);
  EXPECT_EQ(t_.Number(kTokens), 9);
}

}  // namespace
}  // namespace weir::rate_limiter_py
