// The path of a group: reads of limits, blocked limits, waiting requests, deadlines, policies.
#include "weir/limiter/group/group_requests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/limiter/testing/group_fixture.h"

namespace weir {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class GroupRequestsTest : public GroupTest {
 protected:
  void Block(const std::string& entity) {
    Apply({Put(Level::EntityDefault(entity), {{"rpm", {0, 0, 60'000}}, {"tpm", PerMinute(9)}})});
  }
  static Error Away() { return {Code::kUnavailable, "the store is away"}; }
};

// Fails if: the limits of the parts are read one after the other.
TEST_F(GroupRequestsTest, ReadsTheLimitsOfAllPartsAtTheSameTime) {
  store_.hold = true;
  const auto& outcome = AskAll({Rpm("a", 1), Rpm("b", 1), Rpm("c", 1), Rpm("b", 2)});
  EXPECT_THAT(store_.limit_reads, SizeIs(3));  // each pair once
  for (int i = 0; i < 3; ++i) store_.Release();
  ASSERT_TRUE(outcome.has_value() && *outcome && (*outcome)->outcome.admitted());
  EXPECT_EQ(Left("b"), 7);
  store_.hold = false;
  EXPECT_TRUE(TakeAll({Rpm("a", 1), Rpm("c", 1)}));
  EXPECT_THAT(store_.limit_reads, SizeIs(3));
}

TEST_F(GroupRequestsTest, OnlyPairsThatAreNotCachedAreRead) {
  Use("a", 1);
  store_.limit_reads.clear();
  EXPECT_TRUE(TakeAll({Rpm("a", 1), Given(Rule("x", 3), {{"rpm", 1}}), Rpm("b", 1)}));
  EXPECT_THAT(store_.limit_reads, SizeIs(1));
}

// Fails if: a part of a limit that blocks is left out, and the others are charged.
TEST_F(GroupRequestsTest, ALimitThatBlocksRefusesTheWholeGroup) {
  Block("b");
  const auto calls = store_.acquires.size();
  const GroupOutcome& got = Decided({Rpm("a", 1), Rpm("b", 1), Rpm("b", 2)});
  EXPECT_FALSE(got.outcome.admitted());
  const Decision& decision = got.outcome.decision();
  EXPECT_EQ(decision.retry_after, kNeverAdmitted);
  ASSERT_THAT(decision.limits, SizeIs(1));
  EXPECT_EQ(decision.limits[0].entity, "b");
  EXPECT_EQ(decision.limits[0].requested, 3 * kMillitokens);
  EXPECT_EQ(store_.acquires.size(), calls);
  EXPECT_THAT(got.targets, SizeIs(3));
}

TEST_F(GroupRequestsTest, OtherLimitsOfABucketThatBlocksAreCharged) {
  Block("b");
  EXPECT_TRUE(TakeAll({Rpm("a", 1), Rpm("b", 0)}));
  EXPECT_TRUE(
      TakeAll({Rpm("a", 1), {.entity = "b", .resource = "gpt-4", .amounts = {{"tpm", 9}}}}));
  EXPECT_FALSE(
      TakeAll({Rpm("a", 1), {.entity = "b", .resource = "gpt-4", .amounts = {{"tpm", 1}}}}));
  EXPECT_EQ(Left("a"), 8);
  EXPECT_TRUE(TakeAll({Rpm("b", 0)}));
}

// Fails if: a group passes requests that wait for the bucket of one of its parts.
TEST_F(GroupRequestsTest, IsRefusedBehindWaitingRequests) {
  Use("b", 5);
  const Told& waits = Wait("b", 6);
  const GroupOutcome& got = Decided({Rpm("a", 1), Rpm("b", 1)});
  EXPECT_FALSE(got.outcome.admitted());
  EXPECT_GE(got.outcome.decision().retry_after, std::chrono::seconds(5));
  EXPECT_THAT(got.outcome.decision().limits, SizeIs(2));
  EXPECT_EQ(Left("a"), 10);
  EXPECT_TRUE(TakeAll({Rpm("a", 1), Rpm("c", 1)}));
  EXPECT_EQ(Decided({Rpm("b", 6), Rpm("b", 6)}).outcome.decision().retry_after, kNeverAdmitted);
  scheduler_.Advance(kSecond * 6);
  EXPECT_TRUE(waits.admitted());
}

// The bucket of the first part is charged only by the second part, as its parent. Fails if: the
// group's own bucket is looked for among the charges.
TEST_F(GroupRequestsTest, AFirstPartWithoutAmountsFailsWithTheOthers) {
  Family();
  Apply({Put(Level::EntityDefault("p"), {{"rpm", PerMinute(15)}, {"images", {0, 0, 60'000}}})});
  const std::vector<AcquirePart> parts{
      {.entity = "p", .resource = "gpt-4", .amounts = {{"images", 0}}}, Rpm("a", 1)};
  EXPECT_TRUE(TakeAll(parts));
  store_.fail = Away();
  EXPECT_THAT(ErrorOf(parts).message, HasSubstr("the store is away"));
}

// Fails if: a request is charged after its deadline because its limits were read slowly.
TEST_F(GroupRequestsTest, IsNotChargedIfTheDeadlinePassesBeforeItIsSent) {
  store_.hold = true;
  const auto& outcome = AskAll({Rpm("a", 1), Rpm("b", 1)}, Within(milliseconds(50)));
  scheduler_.Advance(milliseconds(50));
  store_.hold = false;
  store_.Release();
  ASSERT_TRUE(outcome.has_value() && !*outcome);
  EXPECT_EQ(outcome->error().code, Code::kDeadlineExceeded);
  EXPECT_THAT(store_.acquires, IsEmpty());
}

TEST_F(GroupRequestsTest, APolicyMayAdmitWithoutACharge) {
  store_.fail = Away();
  const std::vector<AcquirePart> parts{Rpm("a", 1), Rpm("b", 1)};
  const auto blocked = limiter_->AcquireAll({.parts = parts}, Deadline::Never());
  ASSERT_FALSE(blocked);
  EXPECT_EQ(blocked.error().code, Code::kUnavailable);
  EXPECT_THAT(blocked.error().message, HasSubstr("part 1 of 2, a/gpt-4: the store is away"));
  const GroupRequest allow{.parts = parts, .on_unavailable = OnUnavailable::kAllow};
  const auto unread = limiter_->AcquireAll(allow, Deadline::Never());
  ASSERT_TRUE(unread && unread->outcome.unprotected());
  EXPECT_THAT(unread->targets, IsEmpty());
  store_.fail.reset();
  EXPECT_TRUE(TakeAll(parts));
  store_.fail = Away();
  const auto uncharged = limiter_->AcquireAll(allow, Deadline::Never());
  ASSERT_TRUE(uncharged && uncharged->outcome.unprotected());
  EXPECT_THAT(uncharged->targets, SizeIs(2));
  EXPECT_EQ(limiter_->stats().unprotected, 2U);
}

TEST_F(GroupRequestsTest, TheSystemLevelHasAPolicyForGroups) {
  Apply({Put(Level::System(), RpmLimits(10), OnUnavailable::kAllow)});
  EXPECT_TRUE(TakeAll({Rpm("a", 1), Rpm("b", 1)}));
  store_.fail = Away();
  EXPECT_TRUE(Decided({Rpm("a", 1), Rpm("b", 1)}).outcome.unprotected());
  EXPECT_TRUE(Decided({Given(Rule("x", 3), {{"rpm", 1}})}).outcome.unprotected());
}

// No policy admits a request that is wrong, whichever part's error arrives first.
TEST_F(GroupRequestsTest, AnErrorOfTheRequestIsReportedBeforeOneOfTheStore) {
  store_.fail = Away();
  const std::vector<AcquirePart> parts{Rpm("a", 1), Rpm("", 1)};
  const auto got = limiter_->AcquireAll({.parts = parts, .on_unavailable = OnUnavailable::kAllow},
                                        Deadline::Never());
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, Code::kInvalidArgument);
}

class GroupAllowancesTest : public GroupTest {
 protected:
  void SetUp() override {
    Apply({Put(Level::System(), {{"rps", PerSecond(1000), milliseconds(500)}})});
  }
  static AcquirePart Rps(std::string_view entity, std::int64_t amount) {
    return {.entity = entity, .resource = "r", .amounts = {{"rps", amount}}};
  }
};

TEST_F(GroupAllowancesTest, OnePartIsDecidedFromItsAllowance) {
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(TakeAll({Rps("a", 1)}));
  EXPECT_GT(limiter_->stats().allowances.decisions, 50U);
  EXPECT_LT(store_.acquires.size(), 50U);
}

// Fails if: several parts are charged to the allowance of the first one.
TEST_F(GroupAllowancesTest, SeveralPartsGoToTheStore) {
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(TakeAll({Rps("a", 1)}));
  const auto before = limiter_->stats().allowances;
  const auto calls = store_.acquires.size();
  EXPECT_TRUE(TakeAll({Rps("a", 1), Rps("b", 1)}));
  EXPECT_TRUE(TakeAll({Rps("a", 1), Rps("a", 1)}));
  EXPECT_EQ(store_.acquires.size(), calls + 2);
  const auto after = limiter_->stats().allowances;
  EXPECT_EQ(after.spent, before.spent);
  EXPECT_EQ(after.out, before.out);
  EXPECT_EQ(after.pairs, 1U);
  // The capacity is that of the store, without the part that is set aside.
  EXPECT_EQ(Decided({Rps("b", 0), Rps("c", 0)}).outcome.decision().limits[0].capacity,
            500 * kMillitokens);
}

}  // namespace
}  // namespace weir
