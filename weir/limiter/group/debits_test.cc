// Charges without a decision.
#include "weir/limiter/group/debits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/limiter/testing/group_fixture.h"

namespace weir {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class DebitsTest : public GroupTest {
 protected:
  static Error Away() { return {Code::kUnavailable, "the store is away"}; }

  /// Returns the result once it has arrived.
  std::optional<Status>& Begin(std::vector<AcquirePart> parts, Deadline deadline) {
    results_.emplace_back();
    auto& result = results_.back();
    limiter_->Debit(parts, deadline, [&result](Status got) {
      EXPECT_FALSE(result.has_value()) << "one result each";
      result = std::move(got);
    });
    return result;
  }

  /// Returns whether a look at the bucket finds a token.
  bool Look(const TargetPtr& target) {
    const GroupOutcome& look = Decided({Given(target, {{"rpm", 0}})});
    return look.outcome.decision().limits.at(0).available >= kMillitokens;
  }
  /// For 10 s, each look that finds a token is followed by a debit of it, ten times a second.
  int LookAndDebit(const TargetPtr& target) {
    int found = 0;
    for (int i = 0; i < 100; ++i) {
      scheduler_.Advance(milliseconds(100));
      if (!Look(target)) continue;
      EXPECT_TRUE(Debit({Given(target, {{"rpm", 1}})}));
      ++found;
    }
    return found;
  }

  std::list<std::optional<Status>> results_;
};

TEST_F(DebitsTest, TakesTokensAndMayLeaveDebt) {
  EXPECT_TRUE(Debit({Rpm("a", 25), Rpm("b", 4)}));
  EXPECT_EQ(Left("a"), -15);
  EXPECT_EQ(Left("b"), 6);
  EXPECT_THAT(store_.adjusts, SizeIs(1));
  EXPECT_FALSE(TakeAll({Rpm("a", 1)}));
}

TEST_F(DebitsTest, GivesBackUpToTheCapacity) {
  Use("a", 5);
  EXPECT_TRUE(Debit({Rpm("a", -3)}));
  EXPECT_EQ(Left("a"), 8);
  EXPECT_TRUE(Debit({Rpm("a", -50)}));
  EXPECT_EQ(Left("a"), 10);
}

TEST_F(DebitsTest, AddsUpTheAmountsOnOneBucket) {
  Family();
  EXPECT_TRUE(Debit({Rpm("a", 7), Rpm("b", 20), Rpm("a", -2)}));
  EXPECT_EQ(Left("a"), 5);
  EXPECT_EQ(Left("b"), -10);
  EXPECT_EQ(Left("p"), -10);
  EXPECT_TRUE(Debit({Rpm("a", 7), Rpm("a", -7)}));
  EXPECT_THAT(store_.adjusts, SizeIs(1));  // nothing was left to send
}

TEST_F(DebitsTest, AGivenTargetIsDebitedUnderItsOwnLimits) {
  EXPECT_TRUE(Debit({Given(Rule("x", 3), {{"rpm", 5}})}));
  EXPECT_EQ(Left("x", "rule"), -2);
}

TEST_F(DebitsTest, ALimitThatBlocksIsIgnored) {
  Apply({Put(Level::EntityDefault("b"), {{"rpm", {0, 0, 60'000}}})});
  EXPECT_TRUE(Debit({Rpm("a", 1), Rpm("b", 3)}));
  EXPECT_EQ(Left("a"), 9);
  EXPECT_TRUE(Debit({Rpm("b", 3)}));
}

// Fails if: a bucket that is only looked at and debited is refilled at the rate of its old limits.
TEST_F(DebitsTest, AChangedLimitHoldsForABucketThatIsOnlyLookedAtAndDebited) {
  const auto rule = [](std::int64_t tokens, std::int64_t period) {
    return MakeTarget({.entity = "x", .resource = "rule"},
                      {{"rpm", {.capacity = 50'000, .amount = tokens * 1000, .period = period}}});
  };
  const TargetPtr quick = rule(10, 1'000);
  const TargetPtr slow = rule(1, 3'600'000);
  EXPECT_EQ(LookAndDebit(quick), 100);
  EXPECT_EQ(LookAndDebit(slow), 50);
  EXPECT_FALSE(Look(quick)) << "nothing has come back at the old rate";
  EXPECT_EQ(LookAndDebit(quick), 100);
}

// Fails if: a bucket in debt waits at the rate of its old limits.
TEST_F(DebitsTest, ARaisedLimitHoldsForABucketThatIsOnlyLookedAt) {
  const TargetPtr hourly = MakeTarget({"x", "rule"}, {{"rpm", PerHour(1)}});
  EXPECT_TRUE(Debit({Given(hourly, {{"rpm", 300}})}));
  const TargetPtr quick = MakeTarget({"x", "rule"}, {{"rpm", PerSecond(100)}});
  EXPECT_FALSE(Look(quick)) << "200 are owed";
  scheduler_.Advance(milliseconds(2'000));
  EXPECT_FALSE(Look(quick));
  scheduler_.Advance(milliseconds(10));
  EXPECT_TRUE(Look(quick));
}

// Fails if: a debit under limits that a request gives replaces the configured ones.
TEST_F(DebitsTest, LimitsOfARequestStayThoseOfTheRequest) {
  Use("a", 1);
  const TargetPtr given =
      MakeTarget({"a", "gpt-4"}, {{"rpm", PerMinute(99)}}, LimitSource::kOverride);
  EXPECT_TRUE(Debit({Given(given, {{"rpm", 1}})}));
  const BucketKey key{"a", "gpt-4"};
  memory_->buckets().Read({&key, 1}, Deadline::Never(), [&](auto records) {
    EXPECT_EQ(records->front()->bucket.meters.at(0).quota, PerMinute(10));
  });
}

// Fails if: the adjust of a lease, whose limits may be old, undoes a change of limits.
TEST_F(DebitsTest, AnAdjustOfALeaseStoresNoLimits) {
  Told& told = Ask("a", 1);
  ASSERT_TRUE(told.admitted());
  Lease lease = told.lease();
  Apply({Put(Level::EntityDefault("a"), {{"rpm", PerMinute(20)}})});
  Use("a", 1);
  EXPECT_TRUE(lease.Adjust({{"rpm", 2}}));
  EXPECT_EQ(Left("a"), 16);
}

// Fails if: tokens that a debit gives back do not reach the requests that wait for them.
TEST_F(DebitsTest, WakesTheRequestsThatWait) {
  Drain("a");
  const Told& waits = Wait("a", 4);
  EXPECT_EQ(waits.times, 0);
  EXPECT_TRUE(Debit({Rpm("a", -4)}));
  scheduler_.Advance(milliseconds(0));
  EXPECT_TRUE(waits.admitted());
}

TEST_F(DebitsTest, WrongPartsChangeNothing) {
  const auto error = [&](std::vector<AcquirePart> parts) {
    const Status debited = Debit(std::move(parts));
    EXPECT_FALSE(debited);
    return debited ? Error{} : debited.error();
  };
  EXPECT_THAT(
      error({Rpm("a", 1), {.entity = "b", .resource = "gpt-4", .amounts = {{"x", 1}}}}).message,
      HasSubstr("part 2 of 2, b/gpt-4: no limit is called 'x'"));
  EXPECT_EQ(error({}).code, Code::kInvalidArgument);
  EXPECT_EQ(error({Rpm("a", INT64_MAX)}).code, Code::kInvalidArgument);
  EXPECT_EQ(error({Rpm("a", 9'000'000'000'000), Rpm("a", 9'000'000'000'000)}).code,
            Code::kInvalidArgument);
  EXPECT_THAT(store_.adjusts, IsEmpty());
}

// Fails if: a debit whose result was lost counts twice, or is not sent again.
TEST_F(DebitsTest, CountsOnceAlthoughItIsRepeated) {
  Use("a", 0);  // the limits are cached
  store_.lose = Away();
  const auto& result = Begin({Rpm("a", 3)}, Deadline::Never());
  EXPECT_FALSE(result.has_value());
  EXPECT_EQ(Left("a"), 7);
  store_.lose.reset();
  scheduler_.Advance(milliseconds(50));
  ASSERT_TRUE(result.has_value() && *result);
  EXPECT_EQ(Left("a"), 7);
  ASSERT_THAT(store_.adjusts, SizeIs(2));
  EXPECT_EQ(store_.adjusts[0].terms.id, store_.adjusts[1].terms.id);
  EXPECT_TRUE(Debit({Rpm("a", 3)}));
  EXPECT_EQ(Left("a"), 4);
  EXPECT_NE(store_.adjusts[1].terms.id, store_.adjusts[2].terms.id);
}

TEST_F(DebitsTest, IsRepeatedAFewTimes) {
  store_.fail = Away();
  const auto& result = Begin({Given(Rule("x", 3), {{"rpm", 1}})}, Deadline::Never());
  for (int i = 0; i < 10'000 && !result.has_value(); ++i) scheduler_.Advance(milliseconds(1));
  ASSERT_TRUE(result.has_value() && !*result);
  EXPECT_EQ(result->error(), Away());
  EXPECT_THAT(store_.adjusts, SizeIs(4));
  EXPECT_EQ(limiter_->stats().adjusts_in_doubt, 4U);
}

// Fails if: the error of a debit that counts says that nothing was changed: the caller repeats it.
TEST_F(DebitsTest, ARefusalAfterALostResultIsNotDefinite) {
  Use("a", 0);  // the limits are cached
  store_.lose = Away();
  const auto& result = Begin({Rpm("a", 3)}, Deadline::Never());
  store_.lose.reset();
  store_.fail = Error{Code::kPermissionDenied, "the credentials have expired"};
  scheduler_.Advance(std::chrono::seconds(1));
  store_.fail.reset();
  EXPECT_EQ(Left("a"), 7);
  ASSERT_TRUE(result.has_value() && !*result);
  EXPECT_FALSE(IsDefinite(result->error().code)) << result->error().message;
  EXPECT_THAT(result->error().message, HasSubstr("the credentials have expired; an earlier"));
}

// Fails if: a debit is sent after its deadline, for the first time or again.
TEST_F(DebitsTest, IsNotSentAfterItsDeadline) {
  store_.hold = true;
  const auto& slow = Begin({Rpm("a", 1)}, Within(milliseconds(50)));
  scheduler_.Advance(milliseconds(50));
  store_.hold = false;
  store_.Release();
  ASSERT_TRUE(slow.has_value() && !*slow);
  EXPECT_EQ(slow->error().code, Code::kDeadlineExceeded);
  EXPECT_THAT(store_.adjusts, IsEmpty());
  Use("b", 0);
  store_.lose = Away();
  const Deadline deadline = Within(milliseconds(120));
  const auto& lost = Begin({Rpm("b", 1)}, deadline);
  EXPECT_FALSE(lost.has_value());
  scheduler_.Advance(milliseconds(50));
  ASSERT_TRUE(lost.has_value() && !*lost);
  EXPECT_THAT(store_.adjusts, SizeIs(2));
  for (const auto& adjusted : store_.adjusts) EXPECT_LE(adjusted.deadline, deadline);
}

// Fails if: a debit is sent again although the scheduler ran its task after the deadline.
TEST_F(DebitsTest, IsNotSentAgainByALateScheduler) {
  Use("b", 0);
  store_.lose = Away();
  const auto& lost = Begin({Rpm("b", 1)}, Within(milliseconds(60)));
  scheduler_.sim_clock().Advance(milliseconds(60));
  scheduler_.RunReady();
  ASSERT_TRUE(lost.has_value() && !*lost);
  EXPECT_EQ(lost->error(), Away());
  EXPECT_THAT(store_.adjusts, SizeIs(1));
}

TEST_F(DebitsTest, ADefiniteErrorIsNotRepeated) {
  store_.fail = Error{Code::kOutOfRange, "too much debt"};
  const auto& result = Begin({Given(Rule("x", 3), {{"rpm", 1}})}, Deadline::Never());
  ASSERT_TRUE(result.has_value() && !*result);
  EXPECT_EQ(result->error().code, Code::kOutOfRange);
  EXPECT_THAT(store_.adjusts, SizeIs(1));
}

}  // namespace
}  // namespace weir
