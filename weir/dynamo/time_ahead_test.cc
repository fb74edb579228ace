#include "weir/dynamo/time_ahead.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/dynamo/sharding_fixture.h"

namespace weir::dynamo {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr UnixMillis kNow{1'767'225'600'000};
constexpr UnixMillis kAheadTime = kNow + hours(1);

BucketImage ImageAt(UnixMillis rf) {
  BucketImage image = ReadImage(ShardItem(0, 1, 40'000)).value();
  image.bucket.time = rf;
  return image;
}

BucketImage Marked(UnixMillis seen) {
  BucketImage image = ImageAt(kAheadTime);
  image.ahead = AheadMark{.rf = kAheadTime, .seen = seen};
  return image;
}

/// The first write of the plan, as it is sent.
std::string TextOf(const BucketPlan& plan) {
  std::string text;
  plan.writes.front().expression.AppendTo(text);
  return text;
}

TEST(TimeAhead, UpToAMinuteAheadNothingIsDone) {
  EXPECT_EQ(NextAheadStep(ImageAt(kNow), kNow), AheadStep::kNone);
  EXPECT_EQ(NextAheadStep(ImageAt(kNow + kMostAhead), kNow), AheadStep::kNone);
  EXPECT_EQ(NextAheadStep(ImageAt(kNow + kMostAhead + milliseconds(1)), kNow), AheadStep::kMark);
}

TEST(TimeAhead, IsSetBackAMinuteAfterTheMark) {
  EXPECT_EQ(NextAheadStep(Marked(kNow), kNow), AheadStep::kNone);
  EXPECT_EQ(NextAheadStep(Marked(kNow - milliseconds(59'999)), kNow), AheadStep::kNone);
  EXPECT_EQ(NextAheadStep(Marked(kNow - minutes(1)), kNow), AheadStep::kSetBack);
  EXPECT_EQ(SetBackAt(Marked(kNow - minutes(20)), kNow), kNow - minutes(19));
}

TEST(TimeAhead, AMarkThatIsWrongIsReplaced) {
  BucketImage image = Marked(kNow - minutes(2));
  image.ahead->rf = kAheadTime - milliseconds(1);
  EXPECT_EQ(NextAheadStep(image, kNow), AheadStep::kMark) << "of another time";
  EXPECT_EQ(NextAheadStep(Marked(kNow + hours(2)), kNow), AheadStep::kMark)
      << "itself of a clock that was ahead";
  EXPECT_EQ(SetBackAt(image, kNow), kNow + kAheadRest);
  EXPECT_EQ(SetBackAt(ImageAt(kNow + hours(1)), kNow), kNow + kAheadRest);
}

TEST(TimeAhead, AMarkIsReadAsItIsWritten) {
  Item item = ShardItem(0, 1, 40'000);
  item["w_ahead"] = Of(FormatAhead({.rf = kAheadTime, .seen = kNow}));
  EXPECT_EQ(ReadImage(item).value().ahead, (AheadMark{.rf = kAheadTime, .seen = kNow}));
  for (const char* damaged : {"", ";", "1", "1;", "1;2;3", "x;2"}) {
    item["w_ahead"] = Of(damaged);
    EXPECT_EQ(ReadImage(item).value().ahead, std::nullopt) << damaged;
  }
}

// Fails if: the minutes for which a joining limit counts as used last as long as rf was ahead.
TEST(TimeAhead, LimitsThatLeftEarlyAreSetBackToo) {
  BucketImage image = Marked(kNow - minutes(1));
  image.gone = EarlyLeavers{.last_left = kAheadTime, .left_full = kAheadTime + minutes(5)};
  const BucketPlan plan = PlanAheadStep(kShardKeys, image, {AheadStep::kSetBack, kNow});
  EXPECT_THAT(TextOf(plan), HasSubstr(FormatGone({kNow, kNow + minutes(5)})));
  EXPECT_EQ(plan.set_back, hours(1));
}

// Others claim empty slots by this rf. Fails if: a slot leaves while rf stays.
TEST(TimeAhead, AWriteThatLeavesATimeAheadLeavesAllSlots) {
  BucketImage image = ImageAt(kAheadTime);
  image.slots[5] = FenceValue{.instance = 8, .at = kNow - kSlotLife - minutes(1), .draw = 1};
  image.valid_until = 0;  // a refill is asked for, so no write only adds
  const WriteFence::Guard guard{.write = 1, .slot = 0, .value = {.instance = 9, .at = kNow}};
  const TargetPtr target = MakeTarget({"acme", "llm", 0}, {kRpm});
  const std::vector<MeterAmounts> sums{{.takes = 1'000}};
  const BucketRequest request{.target = *target, .sums = sums, .guard = &guard};
  const std::string text = TextOf(PlanWrite(kShardKeys, image, request, kNow).value());
  EXPECT_THAT(text, HasSubstr(FormatRemainders(0, {}, {.time = kAheadTime, .meters = {}})));
  EXPECT_THAT(text, Not(HasSubstr(R"(:"w_5")")));
  const std::string later =
      TextOf(PlanWrite(kShardKeys, image, request, kAheadTime + minutes(30)).value());
  EXPECT_THAT(later, HasSubstr(R"(:"w_5")"));
}

// Fails if: damaged times reach arithmetic that they overflow.
TEST(TimeAhead, DamagedTimesAreNoMarks) {
  for (const std::int64_t seen : {INT64_MIN, std::int64_t{0}, INT64_MAX}) {
    EXPECT_EQ(NextAheadStep(Marked({seen}), kNow), AheadStep::kMark) << seen;
  }
  for (const std::int64_t rf : {INT64_MIN, INT64_MAX}) {
    EXPECT_EQ(NextAheadStep(ImageAt({rf}), kNow), rf < 0 ? AheadStep::kNone : AheadStep::kMark);
  }
  BucketImage image = Marked(kNow - minutes(1));
  image.gone = EarlyLeavers{.last_left = {INT64_MAX}, .left_full = {INT64_MIN}};
  EXPECT_THAT(TextOf(PlanAheadStep(kShardKeys, image, {AheadStep::kSetBack, kNow})),
              HasSubstr(FormatGone({kNow, kNow})));
}

// 10 tokens come back each second, and 100 are the capacity.
TEST(TimeAhead, WhatCameTooEarlyIsTakenBack) {
  const Meter meter = ImageAt(kNow).bucket.meters.front();
  EXPECT_EQ(EarlyRefill(meter, milliseconds(1'500)), 15'000);
  EXPECT_EQ(EarlyRefill(meter, hours(1)), 100'000) << "no more than fits";
  const BucketPlan plan =
      PlanAheadStep(kShardKeys, Marked(kNow - minutes(1)), {AheadStep::kSetBack, kNow});
  EXPECT_THAT(TextOf(plan), HasSubstr(R"({"N":"-100000"})"));
}

// Fails if: a mark stays in the item for ever.
TEST(TimeAhead, AMarkOfATimeThatIsOverLeavesWithTheNextRefill) {
  BucketImage image = ImageAt(kNow - minutes(1));
  image.valid_until = 0;
  image.ahead = AheadMark{.rf = kNow - hours(1), .seen = kNow - hours(2)};
  const TargetPtr target = MakeTarget({"acme", "llm", 0}, {kRpm});
  const std::vector<MeterAmounts> sums{{.takes = 1'000}};
  const BucketRequest request{.target = *target, .sums = sums};
  EXPECT_THAT(TextOf(PlanWrite(kShardKeys, image, request, kNow).value()),
              HasSubstr(R"(:"w_ahead")"));
}

}  // namespace
}  // namespace weir::dynamo
