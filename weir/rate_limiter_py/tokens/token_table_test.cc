// One process on a table of tokens: its requests, its results, its costs.
#include "weir/rate_limiter_py/tokens/token_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/rate_limiter_py/testing/token_fixture.h"

namespace weir::rate_limiter_py {
namespace {

using dynamo::DirectClient;
using dynamo::Of;
using testing::HasSubstr;

class TokenTableTest : public testing::Test {
 protected:
  std::uint64_t calls() const { return t_.sim.client.calls(); }
  // Returns the number of calls of one take.
  std::uint64_t Cost(std::int64_t later, bool taken, const AccountLimit& limit = kTenPer100) {
    const std::uint64_t before = calls();
    const auto result = t_.Take(later, 1, limit);
    EXPECT_TRUE(result && result->taken == taken) << later;
    return calls() - before;
  }
  void TakeAll() { ASSERT_TRUE(t_.Take(0, 10)->taken); }

  TokenSim t_;
};

TEST_F(TokenTableTest, ABucketThatIsNotThereIsFull) {
  const auto result = t_.Take(0, 10);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_TRUE(result->taken);
  EXPECT_EQ(result->available, 0);
  EXPECT_EQ(calls(), 1U);
}

TEST_F(TokenTableTest, LeavesWhatItsClientsRead) {
  ASSERT_TRUE(t_.Take(0, 3)->taken);
  EXPECT_EQ(t_.Number(kTokens), 7);
  EXPECT_EQ(t_.Number(kLastRefill), kStart.value);
  ASSERT_TRUE(t_.Take(25'000)->taken);
  EXPECT_EQ(t_.Number(kTokens), 8) << "9 and a half, less one";
  EXPECT_EQ(t_.Number(kLastRefill), kStart.value + 25'000);
  EXPECT_EQ(t_.Number(kLastToken), kStart.value + 25'000);
}

TEST_F(TokenTableTest, ForeignAttributesStay) {
  t_.Put({{kTokens, 4}, {kLastRefill, kStart.value}, {"colour", 7}});
  ASSERT_TRUE(t_.Take(0)->taken);
  EXPECT_EQ(t_.Number("colour"), 7);
}

TEST_F(TokenTableTest, ARefusalTellsTheWaitToTheMillisecond) {
  TakeAll();
  const auto refused = t_.Take(2500, 3);
  ASSERT_TRUE(refused);
  EXPECT_FALSE(refused->taken);
  EXPECT_EQ(refused->available, 0);
  EXPECT_EQ(refused->retry_after, milliseconds(27'500));
  EXPECT_FALSE(t_.Take(29'999, 3)->taken);
  EXPECT_TRUE(t_.Take(30'000, 3)->taken);
}

// L3: their refill drops the part of a token, but moves lastRefill. 1 token in 3 s.
TEST_F(TokenTableTest, L3NothingDrifts) {
  const AccountLimit limit{1000, std::chrono::seconds(3000)};
  ASSERT_TRUE(t_.Take(0, 1000, limit)->taken);
  int taken = 0;
  for (std::int64_t later = 1000; later <= 300'000; later += 1000) {
    TokenTable other(t_.sim.table, {.seed = static_cast<std::uint64_t>(later)});
    taken += t_.Take(other, later, 1, limit)->taken ? 1 : 0;
  }
  EXPECT_EQ(taken, 100);
}

TEST_F(TokenTableTest, L3ThePartOfATokenOutlivesARefill) {
  TakeAll();
  EXPECT_TRUE(t_.Take(15'000)->taken);
  EXPECT_TRUE(t_.Take(25'000)->taken);
  EXPECT_FALSE(t_.Take(29'999)->taken);
  EXPECT_TRUE(t_.Take(30'000)->taken);
}

// L5: a clock that is behind neither adds nor removes tokens.
TEST_F(TokenTableTest, L5AClockThatIsBehindGetsWhatIsThere) {
  ASSERT_TRUE(t_.Take(50'000, 8)->taken);
  const auto behind = t_.Take(0, 2);
  EXPECT_TRUE(behind->taken);
  EXPECT_EQ(t_.Number(kLastRefill), kStart.value + 50'000) << "never backwards";
  const auto refused = t_.Take(0, 1);
  EXPECT_FALSE(refused->taken);
  EXPECT_EQ(refused->retry_after, milliseconds(60'000)) << "until its own clock shows that time";
  EXPECT_FALSE(t_.Take(59'999, 1)->taken);
  EXPECT_TRUE(t_.Take(60'000, 1)->taken);
}

// L6: a client in New York is five hours ahead. It gets only the refill of these five hours.
TEST_F(TokenTableTest, L6AWriterWithAShiftedClockMintsNothing) {
  constexpr std::int64_t kShift = 18'000'000;
  TakeAll();
  EXPECT_TRUE(t_.Take(kShift, 10)->taken);
  EXPECT_FALSE(t_.Take(99'999)->taken) << "what came back in these five hours is taken";
  EXPECT_FALSE(t_.Take(kShift + 9'999)->taken);
  EXPECT_TRUE(t_.Take(kShift + 10'000)->taken);
}

// L16: their code divides by the window.
TEST_F(TokenTableTest, L16ALimitThatIsNoneIsRefusedBeforeAnythingIsSent) {
  struct Case {
    AccountLimit limit;
    std::int64_t count;
    std::string_view told;
  };
  using std::chrono::seconds;
  for (const Case& wrong : {Case{{10, seconds(0)}, 1, "without a window"},
                            Case{{0, seconds(1)}, 1, "blocked, by a limit of 0"},
                            Case{{-1, seconds(1)}, 1, "blocked, by a limit of -1"},
                            Case{{10, seconds(1)}, 0, "0 tokens; expected 1 to the limit, 10"},
                            Case{{10, seconds(1)}, 11, "11 tokens; expected 1 to"},
                            Case{{10, seconds(-1)}, 1, "a window of -1 s"},
                            Case{{kMaxAccountTokens + 1, seconds(1)}, 1, "expected at most"}}) {
    const auto result = t_.Take(0, wrong.count, wrong.limit);
    ASSERT_FALSE(result) << wrong.told;
    EXPECT_EQ(result.error().code, Code::kInvalidArgument);
    EXPECT_THAT(result.error().message, HasSubstr(std::string(wrong.told)));
  }
  EXPECT_EQ(calls(), 0U);
  EXPECT_FALSE(t_.Item());
}

TEST_F(TokenTableTest, L16AnItemThatIsNoneIsLeftAlone) {
  dynamo::Item item = dynamo::ToItem(TableKeyOf(kKey), t_.layouts.tokens.keys);
  item.emplace("tokens", dynamo::Value{dynamo::Number{"0.5"}});
  t_.sim.Put(item);
  const auto result = t_.Take(0);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(result.error().message, HasSubstr("tokens: 0.5"));
  EXPECT_EQ(t_.Item(), item);
}

// L17: theirs makes two writes for each take, and a read.
TEST_F(TokenTableTest, L17ATakeIsOneWrite) {
  for (int i = 0; i < 10; ++i) EXPECT_EQ(Cost(i * 1000, true), 1U);
  EXPECT_EQ(calls(), t_.writes());
}

// A process that starts usually finds buckets that were not used for a while.
TEST_F(TokenTableTest, L17SoIsTheFirstOneAfterARestart) {
  TakeAll();
  TokenTable fresh(t_.sim.table, {.seed = 2});
  const std::uint64_t before = calls();
  EXPECT_EQ(t_.Take(fresh, 100'000)->available, 9);
  EXPECT_EQ(calls() - before, 1U);
  TokenTable newer(t_.sim.table, {.seed = 3});
  EXPECT_EQ(t_.Take(newer, 100'001)->available, 8);
  EXPECT_EQ(calls() - before, 3U) << "the first one brought what is there";
}

TEST_F(TokenTableTest, AFirstAskSeesDebt) {
  t_.Put({{kTokens, -7}, {kLastRefill, kStart.value}});
  EXPECT_EQ(t_.Take(100'000)->available, 2);
}

TEST_F(TokenTableTest, AFirstAskSeesThatTheWindowWasLonger) {
  ASSERT_TRUE(t_.Take(0, 10, {10, std::chrono::seconds(1000)})->taken);
  TokenTable fresh(t_.sim.table, {.seed = 2});
  EXPECT_FALSE(t_.Take(fresh, 99'999, 1, {10, std::chrono::seconds(1)})->taken);
  EXPECT_TRUE(t_.Take(fresh, 100'000, 1, {10, std::chrono::seconds(1)})->taken);
}

// L18: theirs reads the limit and makes a write that fails, which is billed.
TEST_F(TokenTableTest, L18ARefusalFromWhatIsRememberedSendsNothing) {
  TakeAll();
  EXPECT_EQ(Cost(1, false), 0U);
  EXPECT_EQ(Cost(9'999, false), 0U);
  EXPECT_EQ(Cost(10'000, true), 1U);
  EXPECT_EQ(Cost(10'001, false), 0U);
}

TEST_F(TokenTableTest, L18ARaisedLimitIsSeenAtOnce) {
  TakeAll();
  EXPECT_EQ(Cost(1, false), 0U);
  EXPECT_EQ(Cost(1, true, {11, kTenPer100.window}), 1U);
  EXPECT_EQ(Cost(1, false, {11, kTenPer100.window}), 0U);
}

// One token a day, and then one a second: no caller waits for the rest of the day.
TEST_F(TokenTableTest, AShorterWindowHoldsFromTheFirstAskOn) {
  ASSERT_TRUE(t_.Take(0, 1, {1, std::chrono::seconds(86'400)})->taken);
  const AccountLimit faster{1, std::chrono::seconds(1)};
  const auto refused = t_.Take(5000, 1, faster);
  EXPECT_FALSE(refused->taken);
  EXPECT_EQ(refused->retry_after, milliseconds(1000)) << "less what 5 s of a day gave, rounded up";
  EXPECT_EQ(t_.Number(kLastToken), kStart.value) << "nothing was taken";
  EXPECT_EQ(Cost(5001, false, faster), 0U) << "written down once";
  EXPECT_EQ(Cost(6000, true, faster), 1U);
}

TEST_F(TokenTableTest, ARefusalNeedsNoWriteToBeTold) {
  TakeAll();
  t_.sim.client.FailFrom(1, DirectClient::Fault::kLostResponse);
  const auto refused = t_.Take(0, 5, {12, kTenPer100.window});
  ASSERT_TRUE(refused) << refused.error().message;
  EXPECT_FALSE(refused->taken);
  EXPECT_EQ(refused->available, 2);
}

TEST_F(TokenTableTest, ALimitThatGoesUpAndDownGivesNothing) {
  ASSERT_TRUE(t_.Take(0, 4)->taken);
  EXPECT_EQ(t_.Take(0, 1, {20, kTenPer100.window})->available, 15);
  EXPECT_EQ(t_.Number(kTokens), 15);
  EXPECT_EQ(t_.Take(0, 1)->available, 4);
  EXPECT_FALSE(t_.Take(0, 1, {5, kTenPer100.window})->taken);
}

TEST_F(TokenTableTest, AnItemThatWasDeletedIsFullAgain) {
  ASSERT_TRUE(t_.Take(0, 4)->taken);
  t_.sim.table.DeleteAll({TableKeyOf(kKey)}, Deadline::Never(),
                         [](const auto& gone) { ASSERT_TRUE(gone); });
  EXPECT_EQ(t_.Take(1)->available, 9);
}

TEST_F(TokenTableTest, WhatIsGivenBackByHandIsNoMoreThanTheLimit) {
  ASSERT_TRUE(t_.Take(0, 5)->taken);
  dynamo::Item item = *t_.Item();
  item.insert_or_assign("tokens", Of(10));
  t_.sim.Put(item);
  EXPECT_EQ(t_.Take(25'000)->available, 9);
  EXPECT_EQ(t_.Number(kTokens), 9);
}

TEST_F(TokenTableTest, AnItemOfAnEarlierTimeTakesThePlaceOfWhatIsRemembered) {
  ASSERT_TRUE(t_.Take(50'000, 4)->taken);
  t_.Put({{kTokens, 5}, {kLastRefill, kStart.value}});
  EXPECT_EQ(t_.Take(1)->available, 4);
  EXPECT_EQ(Cost(2, true), 1U);
}

TEST_F(TokenTableTest, RemembersAsManyAsItIsTold) {
  TokenTable small(t_.sim.table, {.remembered_images = 2, .seed = 4});
  const auto take = [&](const std::string& account) {
    const std::uint64_t before = calls();
    const auto result = t_.sim.Ask<TokenResult>([&](auto done) {
      small.Take({"emr", account}, kTenPer100, 1, kStart, Deadline::Never(), std::move(done));
    });
    EXPECT_TRUE(result && result->taken);
    return calls() - before;
  };
  for (const auto* const account : {"a", "b", "a", "c"}) EXPECT_EQ(take(account), 1U);
  EXPECT_EQ(take("a"), 1U) << "asked for after b";
  EXPECT_EQ(take("b"), 2U) << "forgotten";
}

}  // namespace
}  // namespace weir::rate_limiter_py
