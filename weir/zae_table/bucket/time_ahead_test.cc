#include "weir/zae_table/bucket/time_ahead.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/zae_table/testing/sharding_fixture.h"

namespace weir::dynamo {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr UnixMillis kPresent{1'767'225'600'000};
constexpr UnixMillis kFarAhead = kPresent + hours(1);

BucketImage BucketWithTime(UnixMillis rf) {
  BucketImage image = ReadImage(ShardItem(0, 1, 40'000)).value();
  image.bucket.time = rf;
  return image;
}

BucketImage BucketMarkedAt(UnixMillis seen) {
  BucketImage image = BucketWithTime(kFarAhead);
  image.ahead = AheadMark{.rf = kFarAhead, .seen = seen};
  return image;
}

/// Returns the first write of the plan as it is sent.
std::string TextOfFirstWrite(const BucketPlan& plan) {
  std::string text;
  plan.writes.front().expression.AppendTo(text);
  return text;
}

TEST(TimeAhead, UpToSeventySecondsAheadNothingIsDone) {
  EXPECT_EQ(NextAheadStep(BucketWithTime(kPresent), kPresent), AheadStep::kNone);
  EXPECT_EQ(NextAheadStep(BucketWithTime(kPresent + milliseconds(70'000)), kPresent),
            AheadStep::kNone);
  EXPECT_EQ(NextAheadStep(BucketWithTime(kPresent + milliseconds(70'001)), kPresent),
            AheadStep::kMark);
}

TEST(TimeAhead, IsSetBackAMinuteAfterTheMark) {
  EXPECT_EQ(NextAheadStep(BucketMarkedAt(kPresent), kPresent), AheadStep::kNone);
  EXPECT_EQ(NextAheadStep(BucketMarkedAt(kPresent - milliseconds(59'999)), kPresent),
            AheadStep::kNone);
  EXPECT_EQ(NextAheadStep(BucketMarkedAt(kPresent - minutes(1)), kPresent), AheadStep::kSetBack);
  EXPECT_EQ(SetBackAt(BucketMarkedAt(kPresent - minutes(20)), kPresent), kPresent - minutes(19));
}

TEST(TimeAhead, AMarkThatIsWrongIsReplaced) {
  BucketImage image = BucketMarkedAt(kPresent - minutes(2));
  image.ahead->rf = kFarAhead - milliseconds(1);
  EXPECT_EQ(NextAheadStep(image, kPresent), AheadStep::kMark) << "of another time";
  EXPECT_EQ(NextAheadStep(BucketMarkedAt(kPresent + hours(2)), kPresent), AheadStep::kMark)
      << "itself of a clock that was ahead";
  EXPECT_EQ(SetBackAt(image, kPresent), kPresent + kAheadRest);
  EXPECT_EQ(SetBackAt(BucketWithTime(kPresent + hours(1)), kPresent), kPresent + kAheadRest);
}

TEST(TimeAhead, AMarkIsReadAsItIsWritten) {
  Item item = ShardItem(0, 1, 40'000);
  item["w_ahead"] = Of(FormatAhead({.rf = kFarAhead, .seen = kPresent}));
  EXPECT_EQ(ReadImage(item).value().ahead, (AheadMark{.rf = kFarAhead, .seen = kPresent}));
  for (const char* damaged : {"", ";", "1", "1;", "1;2;3", "x;2"}) {
    item["w_ahead"] = Of(damaged);
    EXPECT_EQ(ReadImage(item).value().ahead, std::nullopt) << damaged;
  }
}

// Fails if: the time for which a joining limit counts as used grows by as much as rf was ahead.
TEST(TimeAhead, LimitsThatLeftEarlyAreSetBackToo) {
  BucketImage image = BucketMarkedAt(kPresent - minutes(1));
  image.evicted = EvictedLimits{.last_left = kFarAhead, .left_full = kFarAhead + minutes(5)};
  image.stored_gone = FormatGone(*image.evicted);
  const BucketPlan plan = PlanAheadStep(kShardKeys, image, {AheadStep::kSetBack, kPresent});
  EXPECT_THAT(TextOfFirstWrite(plan), HasSubstr(FormatGone({kPresent, kPresent + minutes(5)})));
  EXPECT_EQ(plan.set_back, hours(1));
}

// Others claim empty slots by this rf. Fails if: a slot is removed while rf stays.
TEST(TimeAhead, AWriteThatLeavesATimeAheadLeavesAllSlots) {
  BucketImage image = BucketWithTime(kFarAhead);
  image.slots[5] = FenceValue{.instance = 8, .at = kPresent - kSlotLife - minutes(1), .draw = 1};
  image.valid_until = 0;  // requests a refill, so no write only adds
  const WriteFence::Guard guard{.write = 1, .slot = 0, .value = {.instance = 9, .at = kPresent}};
  const TargetPtr target = MakeTarget({"acme", "llm", 0}, {kRpm});
  const std::vector<MeterAmounts> sums{{.takes = 1'000}};
  const BucketRequest request{.target = *target, .sums = sums, .guard = &guard};
  const std::string text =
      TextOfFirstWrite(PlanWrite(kShardKeys, image, request, kPresent).value());
  EXPECT_THAT(text, HasSubstr(FormatRemainders(0, {}, {.time = kFarAhead, .meters = {}})));
  EXPECT_THAT(text, Not(HasSubstr(R"(:"w_5")")));
  const std::string later =
      TextOfFirstWrite(PlanWrite(kShardKeys, image, request, kFarAhead + minutes(30)).value());
  EXPECT_THAT(later, HasSubstr(R"(:"w_5")"));
}

// Fails if: damaged times cause an overflow.
TEST(TimeAhead, DamagedTimesAreNoMarks) {
  for (const std::int64_t seen : {INT64_MIN, std::int64_t{0}, INT64_MAX}) {
    EXPECT_EQ(NextAheadStep(BucketMarkedAt({seen}), kPresent), AheadStep::kMark) << seen;
  }
  for (const std::int64_t rf : {INT64_MIN, INT64_MAX}) {
    EXPECT_EQ(NextAheadStep(BucketWithTime({rf}), kPresent),
              rf < 0 ? AheadStep::kNone : AheadStep::kMark);
  }
  BucketImage image = BucketMarkedAt(kPresent - minutes(1));
  image.evicted = EvictedLimits{.last_left = {INT64_MAX}, .left_full = {INT64_MIN}};
  image.stored_gone = FormatGone(*image.evicted);
  EXPECT_THAT(TextOfFirstWrite(PlanAheadStep(kShardKeys, image, {AheadStep::kSetBack, kPresent})),
              HasSubstr(FormatGone({kPresent, kPresent})));
}

// Fails if: a bucket is set back again before it could have been filled.
TEST(TimeAhead, ASetBackDelaysTheNextOneByTheTimeToFull) {
  BucketImage image = BucketMarkedAt(kPresent - minutes(1));
  image.bucket.meters.front().quota = {600'000, 1'000, 1'000};  // ten minutes
  image.last_set_back = kPresent - minutes(4);
  EXPECT_EQ(NextAheadStep(image, kPresent), AheadStep::kNone);
  EXPECT_EQ(SetBackAt(image, kPresent), kPresent + minutes(6));
  image.last_set_back = kPresent - minutes(11);
  EXPECT_EQ(NextAheadStep(image, kPresent), AheadStep::kSetBack);
  image.last_set_back = kPresent + hours(2);
  EXPECT_EQ(NextAheadStep(image, kPresent), AheadStep::kSetBack) << "of a clock that was ahead";
}

TEST(TimeAhead, AMarkOfATimeThatIsNotAheadSetsNothingBack) {
  BucketImage image = BucketWithTime(kPresent);
  image.ahead = AheadMark{.rf = kPresent, .seen = kPresent - hours(1)};
  EXPECT_EQ(NextAheadStep(image, kPresent), AheadStep::kNone);
}

TEST(TimeAhead, AMarkOfAnotherTimeIsReplacedAfterTenSeconds) {
  BucketImage image = BucketMarkedAt(kPresent - milliseconds(9'999));
  image.ahead->rf = kFarAhead - milliseconds(1);
  EXPECT_EQ(NextAheadStep(image, kPresent), AheadStep::kNone);
  EXPECT_EQ(NextAheadStep(image, kPresent + milliseconds(1)), AheadStep::kMark);
}

// Fails if: a usual difference of clocks makes a mark look old.
TEST(TimeAhead, AMarkOfAProcessThatIsTwoSecondsAheadIsYoung) {
  BucketImage image = BucketMarkedAt(kPresent + milliseconds(2'000));
  image.ahead->rf = kFarAhead - milliseconds(1);
  EXPECT_EQ(NextAheadStep(image, kPresent), AheadStep::kNone);
  EXPECT_EQ(NextAheadStep(image, kPresent - milliseconds(1)), AheadStep::kMark);
}

// Fails if: two processes mark the same time one after the other.
TEST(TimeAhead, AMarkRequiresTheOneThatWasSeen) {
  BucketImage image = BucketWithTime(kFarAhead);
  const auto text = [&] {
    return TextOfFirstWrite(PlanAheadStep(kShardKeys, image, {AheadStep::kMark, kPresent}));
  };
  EXPECT_THAT(text(), HasSubstr("attribute_not_exists"));
  image.stored_ahead = Of("damaged");
  EXPECT_THAT(text(), HasSubstr(R"({"S":"damaged"})"));
}

// Fails if: a mark stays in the item for ever.
TEST(TimeAhead, AMarkOfATimeThatIsOverLeavesWithTheNextRefill) {
  BucketImage image = BucketWithTime(kPresent - minutes(1));
  image.valid_until = 0;
  image.stored_ahead = Of(FormatAhead({.rf = kPresent - hours(1), .seen = kPresent - hours(2)}));
  const TargetPtr target = MakeTarget({"acme", "llm", 0}, {kRpm});
  const std::vector<MeterAmounts> sums{{.takes = 1'000}};
  const BucketRequest request{.target = *target, .sums = sums};
  const std::string text =
      TextOfFirstWrite(PlanWrite(kShardKeys, image, request, kPresent).value());
  EXPECT_THAT(text, HasSubstr(R"(:"w_ahead")"));
}

}  // namespace
}  // namespace weir::dynamo
