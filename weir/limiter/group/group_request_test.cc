// Requests on several pairs: all parts are charged or none.
#include "weir/limiter/group/group_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/limiter/testing/group_fixture.h"

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<std::string> EntitiesOf(const PartTargets& targets) {
  std::vector<std::string> entities;
  for (const TargetPtr& target : targets) entities.push_back(target->key.entity);
  return entities;
}

class GroupRequestTest : public GroupTest {};

TEST_F(GroupRequestTest, ChargesEveryPartInOneCall) {
  const GroupOutcome& got = Decided({Rpm("a", 3), Rpm("b", 4)});
  EXPECT_TRUE(got.outcome.admitted());
  ASSERT_THAT(got.outcome.decision().limits, SizeIs(2));
  EXPECT_EQ(got.outcome.decision().limits[1].requested, 4 * kMillitokens);
  EXPECT_THAT(store_.acquires, SizeIs(1));
  EXPECT_EQ(Left("a"), 7);
  EXPECT_EQ(Left("b"), 6);
  EXPECT_EQ(limiter_->stats().charged, 1U);
}

// Fails if: the parts that fit are charged although another part is refused.
TEST_F(GroupRequestTest, ChargesNothingIfOnePartIsRefused) {
  Use("b", 8);
  const GroupOutcome& got = Decided({Rpm("a", 3), Rpm("b", 4)});
  EXPECT_FALSE(got.outcome.admitted());
  const Decision& decision = got.outcome.decision();
  ASSERT_THAT(decision.limits, SizeIs(2));
  EXPECT_FALSE(decision.limits[0].exceeded);
  EXPECT_TRUE(decision.limits[1].exceeded);
  EXPECT_EQ(decision.retry_after, std::chrono::seconds(12));
  EXPECT_EQ(Left("a"), 10);
  EXPECT_EQ(Left("b"), 2);
  EXPECT_EQ(limiter_->stats().refused, 1U);
}

// Fails if: parts on one bucket are judged one by one, or only one of them is charged.
TEST_F(GroupRequestTest, AddsUpTheAmountsOfPartsOnOneBucket) {
  EXPECT_FALSE(TakeAll({Rpm("a", 10), Rpm("a", 1)}));
  EXPECT_EQ(Left("a"), 10);
  EXPECT_TRUE(TakeAll({Rpm("a", 4), Rpm("b", 1), Rpm("a", 5)}));
  EXPECT_EQ(Left("a"), 1);
  EXPECT_EQ(Left("b"), 9);
}

TEST_F(GroupRequestTest, AddsUpTheAmountsOnASharedParent) {
  Family();
  const GroupOutcome& got = Decided({Rpm("a", 7), Rpm("b", 6)});
  EXPECT_TRUE(got.outcome.admitted());
  EXPECT_THAT(got.outcome.decision().limits, SizeIs(3));
  EXPECT_THAT(EntitiesOf(got.targets[0]), ElementsAre("a", "p"));
  EXPECT_THAT(EntitiesOf(got.targets[1]), ElementsAre("b", "p"));
  EXPECT_EQ(got.targets[0][1], got.targets[1][1]);
  EXPECT_EQ(Left("p"), 2);
  EXPECT_FALSE(TakeAll({Rpm("a", 2), Rpm("b", 1)}));
  EXPECT_TRUE(TakeAll({Rpm("a", 1), Rpm("b", 1)}));
}

TEST_F(GroupRequestTest, OnePartIsChargedAsByAcquire) {
  Family();
  GroupOutcome& got = Decided({Rpm("a", 7)});
  ASSERT_TRUE(got.outcome.admitted());
  EXPECT_THAT(EntitiesOf(got.targets[0]), ElementsAre("a", "p"));
  Lease lease = std::move(got.outcome).lease();
  EXPECT_TRUE(lease.Cancel());
  EXPECT_EQ(Left("a"), 10);
  EXPECT_EQ(Left("p"), 15);
}

TEST_F(GroupRequestTest, AnAmountOf0ReadsTheLimit) {
  Use("b", 8);
  const GroupOutcome& got = Decided({Rpm("a", 1), Rpm("b", 0)});
  EXPECT_TRUE(got.outcome.admitted());
  EXPECT_EQ(got.outcome.decision().limits[1].available, 2 * kMillitokens);
  EXPECT_EQ(Left("b"), 2);
}

TEST_F(GroupRequestTest, AnAncestorWithoutTheLimitIsNotATarget) {
  Apply({PutChild("a", "p"), Put(Level::EntityDefault("p"), {{"tpm", PerMinute(5)}})});
  EXPECT_THAT(EntitiesOf(Decided({Rpm("a", 1), Rpm("b", 1)}).targets[0]), ElementsAre("a"));
}

TEST_F(GroupRequestTest, AGivenTargetIsChargedUnderItsOwnLimits) {
  EXPECT_TRUE(TakeAll({Rpm("a", 1), Given(Rule("x", 3), {{"rpm", 3}})}));
  EXPECT_FALSE(TakeAll({Rpm("a", 1), Given(Rule("x", 3), {{"rpm", 1}})}));
  EXPECT_EQ(Left("x", "rule"), 0);
  EXPECT_EQ(Left("a"), 9);
  EXPECT_TRUE(TakeAll({Given(Rule("y", 3), {{"rpm", 2}}), Given(Rule("y", 3), {{"rpm", 1}})}));
  EXPECT_EQ(Left("y", "rule"), 0);
}

TEST_F(GroupRequestTest, APartOverTheCapacityIsRefusedForEver) {
  for (const std::vector<AcquirePart>& parts :
       {std::vector{Rpm("a", 11)}, std::vector{Rpm("a", 11), Rpm("b", 1)}}) {
    const GroupOutcome& got = Decided(parts);
    EXPECT_EQ(got.outcome.decision().retry_after, kNeverAdmitted);
    EXPECT_EQ(got.targets.size(), parts.size());
  }
  EXPECT_THAT(store_.acquires, IsEmpty());
}

// A sum over the capacity can never pass, but each part alone can.
TEST_F(GroupRequestTest, ASumOverTheCapacityIsRefusedForEver) {
  Use("a", 2);
  const auto calls = store_.acquires.size();
  const GroupOutcome& got = Decided({Rpm("a", 6), Rpm("b", 1), Rpm("a", 5)});
  EXPECT_FALSE(got.outcome.admitted());
  const Decision& decision = got.outcome.decision();
  EXPECT_EQ(decision.retry_after, kNeverAdmitted);
  ASSERT_THAT(decision.limits, SizeIs(2));
  EXPECT_TRUE(decision.limits[0].exceeded);
  EXPECT_EQ(decision.limits[0].available, 8 * kMillitokens);
  EXPECT_EQ(decision.limits[0].requested, 11 * kMillitokens);
  EXPECT_EQ(decision.limits[0].retry_after, kNeverAdmitted);
  EXPECT_FALSE(decision.limits[1].exceeded);
  EXPECT_EQ(store_.acquires.size(), calls);
  store_.fail = Error{Code::kUnavailable, "away"};
  EXPECT_EQ(Decided({Rpm("a", 6), Rpm("a", 5)}).outcome.decision().retry_after, kNeverAdmitted);
}

TEST_F(GroupRequestTest, ErrorsNameThePart) {
  EXPECT_THAT(
      ErrorOf({Rpm("a", 1), {.entity = "b", .resource = "gpt-4", .amounts = {{"x", 1}}}}).message,
      HasSubstr("part 2 of 2, b/gpt-4: no limit is called 'x'"));
  const Error first = ErrorOf({Rpm("a", -1), Rpm("b", 1)});
  EXPECT_THAT(first.message, HasSubstr("part 1 of 2, a/gpt-4: limit rpm is asked for -1"));
  EXPECT_EQ(first.part, 0U);
  const Error second = ErrorOf({Rpm("a", 1), Rpm("", 1)});
  EXPECT_THAT(second.message, HasSubstr("part 2 of 2, /gpt-4: "));
  EXPECT_EQ(second.part, 1U);
  const Error alone = ErrorOf({Rpm("a", -1)});
  EXPECT_EQ(alone.message.find("part"), std::string::npos);
  EXPECT_EQ(alone.part, std::nullopt);
  EXPECT_EQ(ErrorOf({}).code, Code::kInvalidArgument);
  EXPECT_THAT(store_.acquires, IsEmpty());
  EXPECT_EQ(limiter_->stats().errors, 5U);
}

TEST_F(GroupRequestTest, TheNumberOfPartsAndBucketsIsBounded) {
  std::vector<std::string> names;
  for (int i = 0; i < 101; ++i) names.push_back("e" + std::to_string(i));
  std::vector<AcquirePart> parts;
  for (const std::string& name : names) parts.push_back(Rpm(name, 1));
  EXPECT_THAT(ErrorOf(parts).message, HasSubstr("a request has 101 parts; allowed are 1 to 100"));
  parts.pop_back();
  EXPECT_TRUE(TakeAll(parts));
  Apply({PutChild("e0", "p")});
  EXPECT_THAT(ErrorOf(parts).message, HasSubstr("a request charges 101 buckets"));
  EXPECT_EQ(Left("e99"), 9);
}

TEST_F(GroupRequestTest, DifferentLimitsForOneBucketAreAnError) {
  const TargetPtr rule = MakeTarget({.entity = "a", .resource = "gpt-4"}, RpmLimits(3));
  const Error error = ErrorOf({Rpm("a", 1), Given(rule, {{"rpm", 1}})});
  EXPECT_EQ(error.code, Code::kInvalidArgument);
  EXPECT_THAT(error.message, HasSubstr("a/gpt-4: parts of one request have different limits"));
  const TargetPtr same = MakeTarget({.entity = "a", .resource = "gpt-4"}, RpmLimits(10));
  EXPECT_TRUE(TakeAll({Rpm("a", 1), Given(same, {{"rpm", 1}})}));
  EXPECT_EQ(Left("a"), 8);
}

}  // namespace
}  // namespace weir
