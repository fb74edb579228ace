#include "weir/limiter/charges/charges.h"
#include "weir/limiter/charges/held_charges.h"
#include "weir/limiter/charges/refusals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/base/bucket_time.h"

namespace weir {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const TargetPtr kChild = MakeTarget({.entity = "acme", .resource = "gpt-4"},
                                    {{"rpm", PerMinute(10)}, {"tpm", PerMinute(100)}});
const TargetPtr kParent =
    MakeTarget({.entity = "org", .resource = "gpt-4"}, {{"tpm", PerMinute(50)}});
const TargetPtr kOther =
    MakeTarget({.entity = "root", .resource = "gpt-4"}, {{"calls", PerMinute(5)}});

std::string MessageOf(const Result<std::vector<Charge>>& result) {
  EXPECT_FALSE(result);
  if (result) return "";
  EXPECT_EQ(result.error().code, Code::kInvalidArgument);
  return result.error().message;
}

TEST(MakeChargesTest, PutsEachAmountWhereItsLimitIs) {
  const auto charges = MakeCharges(std::vector{kChild, kParent}, {{"tpm", 7}, {"rpm", 1}});
  ASSERT_TRUE(charges);
  ASSERT_EQ(charges->size(), 2U);
  EXPECT_EQ(charges->at(0).target, kChild);
  EXPECT_THAT(charges->at(0).amounts, ElementsAre(1000, 7000));
  EXPECT_EQ(charges->at(1).target, kParent);
  EXPECT_THAT(charges->at(1).amounts, ElementsAre(7000));
}

TEST(MakeChargesTest, AnAncestorWithNoneOfTheLimitsIsLeftOut) {
  const auto charges = MakeCharges(std::vector{kChild, kOther, kParent}, {{"tpm", 7}});
  ASSERT_TRUE(charges);
  ASSERT_EQ(charges->size(), 2U);
  EXPECT_EQ(charges->at(1).target, kParent);
}

TEST(MakeChargesTest, FractionsOfATokenAreKept) {
  const auto charges = MakeCharges(std::vector{kChild}, {{"rpm", Tokens::Milli(1)}});
  ASSERT_TRUE(charges);
  EXPECT_THAT(charges->at(0).amounts, ElementsAre(1, 0));
}

// W7: in zae-limiter a negative consume minted tokens, and an unknown name was ignored, so a typing
// error switched the limit off.
TEST(MakeChargesTest, RegressionW7BadAmountsAreRefused) {
  const std::vector targets{kChild, kParent};
  EXPECT_THAT(MessageOf(MakeCharges(targets, {{"rpm", -5}})),
              AllOf(HasSubstr("rpm"), HasSubstr("-5"), HasSubstr("must not be negative")));
  EXPECT_THAT(MessageOf(MakeCharges(targets, {{"rmp", 1}})),
              AllOf(HasSubstr("'rmp'"), HasSubstr("acme/gpt-4"), HasSubstr("rpm, tpm")));
  EXPECT_THAT(MessageOf(MakeCharges(targets, {})), HasSubstr("no amounts"));
  EXPECT_THAT(MessageOf(MakeCharges(targets, {{"rpm", 1}, {"tpm", 1}, {"rpm", 0}})),
              HasSubstr("rpm is named twice"));
}

TEST(MakeChargesTest, MoreThanTheCapacityOfAnyChargedBucketIsNever) {
  EXPECT_THAT(MessageOf(MakeCharges(std::vector{kChild, kParent}, {{"tpm", 51}})),
              AllOf(HasSubstr("org/gpt-4"), HasSubstr("tpm"), HasSubstr("never"), HasSubstr("50")));
  EXPECT_TRUE(MakeCharges(std::vector{kChild, kParent}, {{"tpm", 50}}));
  EXPECT_THAT(MessageOf(MakeCharges(std::vector{kChild}, {{"tpm", INT64_MAX}})),
              HasSubstr("never"));
}

TEST(MakeDeltasTest, ReachesEveryBucketThatHasTheLimit) {
  const auto held = *MakeCharges(std::vector{kChild, kParent}, {{"tpm", 5}});
  const auto deltas = MakeDeltas(held, {{"tpm", -2}});
  ASSERT_TRUE(deltas);
  ASSERT_EQ(deltas->size(), 2U);
  EXPECT_THAT(deltas->at(0).amounts, ElementsAre(0, -2000));
  EXPECT_THAT(deltas->at(1).amounts, ElementsAre(-2000));
}

// W6: in zae-limiter an adjust of a limit that the acquire did not name was lost.
TEST(MakeDeltasTest, RegressionW6ALimitThatWasNotNamedMayBeAdjusted) {
  const auto held = *MakeCharges(std::vector{kChild, kParent}, {{"tpm", 5}});
  const auto deltas = MakeDeltas(held, {{"rpm", 3}});
  ASSERT_TRUE(deltas);
  ASSERT_EQ(deltas->size(), 1U) << "the parent has no such limit";
  EXPECT_THAT(deltas->front().amounts, ElementsAre(3000, 0));
}

TEST(MakeDeltasTest, NothingToChangeIsNoDelta) {
  const auto held = *MakeCharges(std::vector{kChild}, {{"tpm", 5}});
  EXPECT_TRUE(MakeDeltas(held, {{"tpm", 0}})->empty());
  EXPECT_TRUE(MakeDeltas(held, {})->empty());
}

TEST(MakeDeltasTest, BadAmountsAreRefused) {
  const auto held = *MakeCharges(std::vector{kChild}, {{"tpm", 5}});
  EXPECT_THAT(MessageOf(MakeDeltas(held, {{"tmp", 1}})), HasSubstr("rpm, tpm"));
  EXPECT_THAT(MessageOf(MakeDeltas(held, {{"tpm", 1}, {"tpm", 2}})), HasSubstr("twice"));
  EXPECT_THAT(MessageOf(MakeDeltas(held, {{"tpm", Tokens::Milli(kMaxMillitokens + 1)}})),
              HasSubstr("at most"));
  EXPECT_THAT(MessageOf(MakeDeltas(held, {{"tpm", Tokens::Milli(INT64_MIN)}})),
              HasSubstr("at most"));
}

TEST(HeldTest, NoMoreIsGivenBackThanIsHeld) {
  const auto held = *MakeCharges(std::vector{kChild, kParent}, {{"tpm", 5}});
  EXPECT_TRUE(CheckHeld(held, *MakeDeltas(held, {{"tpm", -5}})));
  EXPECT_TRUE(CheckHeld(held, *MakeDeltas(held, {{"tpm", 500}})));
  const Status more = CheckHeld(held, *MakeDeltas(held, {{"tpm", Tokens::Milli(-5001)}}));
  ASSERT_FALSE(more);
  EXPECT_THAT(more.error().message, AllOf(HasSubstr("5.001"), HasSubstr("holds 5")));
  EXPECT_FALSE(CheckHeld(held, *MakeDeltas(held, {{"rpm", -1}})));
}

TEST(HeldTest, PartsOfAMixedDeltaAreAddedApart) {
  auto held = *MakeCharges(std::vector{kChild}, {{"rpm", 2}, {"tpm", 5}});
  const auto deltas = *MakeDeltas(held, {{"rpm", 3}, {"tpm", -4}});
  AddNegative(held, deltas);
  EXPECT_THAT(held[0].amounts, ElementsAre(2000, 1000));
  RestoreNegative(held, deltas);
  EXPECT_THAT(held[0].amounts, ElementsAre(2000, 5000));
  AddPositive(held, deltas);
  EXPECT_THAT(held[0].amounts, ElementsAre(5000, 5000));
}

TEST(HeldTest, SumsDoNotWrap) {
  std::vector<Charge> held{{kParent, {INT64_MAX - 1}}};
  AddPositive(held, std::vector<Charge>{{kParent, {1000}}});
  EXPECT_EQ(held[0].amounts[0], INT64_MAX);
}

TEST(OppositeTest, GivesBackWhatIsHeldAndLeavesTheRestOut) {
  const auto held = *MakeCharges(std::vector{kChild, kParent}, {{"tpm", 5}, {"rpm", 1}});
  const auto back = OppositeOf(held);
  ASSERT_EQ(back.size(), 2U);
  EXPECT_THAT(back[0].amounts, ElementsAre(-1000, -5000));
  EXPECT_THAT(back[1].amounts, ElementsAre(-5000));
  EXPECT_TRUE(OppositeOf(*MakeCharges(std::vector{kChild}, {{"rpm", 0}})).empty());
}

TEST(LongestRefusalTest, NamesTheBucketThatRefusesForTheLongest) {
  const auto charges = *MakeCharges(std::vector{kChild, kParent}, {{"tpm", 5}});
  Decision refusal;
  for (const int wait : {0, 10, 20}) refusal.limits.emplace_back().retry_after = milliseconds(wait);
  EXPECT_EQ(LongestRefusal(charges, refusal), 1U);
  refusal.limits[1].retry_after = milliseconds(30);
  EXPECT_EQ(LongestRefusal(charges, refusal), 0U);
  EXPECT_EQ(LongestRefusal(charges, Decision{}), 0U) << "a store that tells no statuses";
}

TEST(RefusalOfTest, TellsHowTheBucketsStandNow) {
  const auto charges = *MakeCharges(std::vector{kChild, kParent}, {{"tpm", 40}});
  // The limit is 50 per minute. 12 s ago it was 100 per minute, and 30 tokens were left: 70 were
  // used.
  BucketRecord record{.key = kParent->key, .names = {"tpm"}, .bucket = {UnixMillis{1000}, {}}};
  record.bucket.meters.push_back(FullMeter(PerMinute(100)));
  record.bucket.meters[0].tokens = 30'000;
  const std::vector<std::optional<BucketRecord>> records{std::nullopt, record};
  const Decision refusal = RefusalOf(charges, records, UnixMillis{13'000}, milliseconds(5));
  EXPECT_FALSE(refusal.admitted);
  ASSERT_EQ(refusal.limits.size(), 3U);
  EXPECT_EQ(refusal.limits[0].available, 10'000);
  EXPECT_EQ(refusal.limits[1].requested, 40'000);
  EXPECT_FALSE(refusal.limits[1].exceeded);
  // After a refill of 20 under the old limit, 50 tokens are used: all of the new limit.
  EXPECT_EQ(refusal.limits[2].entity, "org");
  EXPECT_EQ(refusal.limits[2].capacity, 50'000);
  EXPECT_EQ(refusal.limits[2].available, 0);
  EXPECT_TRUE(refusal.limits[2].exceeded);
  EXPECT_EQ(refusal.limits[2].retry_after, milliseconds(48'000));
  EXPECT_EQ(refusal.retry_after, milliseconds(48'000));
}

// Fails if: RefusalOf ignores that nothing is refilled before the bucket's time.
TEST(RefusalOfTest, C15WaitsUntilTheBucketsTimeIsReached) {
  const TargetPtr target =
      MakeTarget({.entity = "acme", .resource = "gpt-4"}, {{"rpm", PerSecond(1)}});
  const UnixMillis now{1'000'000};
  Bucket bucket{.time = now + milliseconds(40'000), .meters = {FullMeter(PerSecond(1))}};
  bucket.meters[0].tokens = 0;
  const std::vector<Charge> charges{{target, {1000}}};
  std::vector<std::optional<BucketRecord>> records{
      BucketRecord{.key = target->key, .names = {"rpm"}, .bucket = bucket}};
  const auto wait = [&] { return RefusalOf(charges, records, now, {}).retry_after; };
  EXPECT_EQ(wait(), milliseconds(41'000));
  records[0]->bucket.time = now - milliseconds(400);
  EXPECT_EQ(wait(), milliseconds(600));
  records[0]->bucket.time = now + kMaxAhead + milliseconds(1);
  EXPECT_EQ(wait(), milliseconds(1'000)) << "the next request sets it to now";
}

TEST(RefusalOfTest, WaitsAtLeastAsLongAsToldAndNeverNotAtAll) {
  const auto charges = *MakeCharges(std::vector{kParent}, {{"tpm", 1}});
  const std::vector<std::optional<BucketRecord>> records{std::nullopt};
  EXPECT_EQ(RefusalOf(charges, records, UnixMillis{0}, milliseconds(70)).retry_after,
            milliseconds(70));
  EXPECT_EQ(RefusalOf(charges, records, UnixMillis{0}, milliseconds(-3)).retry_after,
            milliseconds(1));
}

}  // namespace
}  // namespace weir
