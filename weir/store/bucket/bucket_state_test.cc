#include "weir/store/bucket/bucket_state.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "weir/store/bucket/extra_meters.h"

namespace weir {
namespace {

constexpr UnixMillis kStateStart{1'767'225'600'013};
const BucketKey kAcme{"acme", "gpt-4", 0};

milliseconds Seconds(std::int64_t seconds) { return milliseconds(seconds * 1000); }

TargetPtr PerMinuteOverride(const std::string& name, std::int64_t tokens = 60) {
  return MakeTarget(kAcme, {{name, PerMinute(tokens)}}, LimitSource::kOverride);
}

Charge One(const TargetPtr& target, std::int64_t tokens) {
  return {target, {tokens * kMillitokens}};
}

BucketState EmptyState() { return NewBucketState(PerMinuteOverride("any"), kStateStart); }

std::int64_t Available(const BucketState& state, const TargetPtr& target, UnixMillis now) {
  return ViewOf(&state, *target, 0, now).meter.tokens / kMillitokens;
}

// Returns a bucket with 20 extra meters, of which meter n has used 30 + n.
BucketState FilledState() {
  BucketState state = EmptyState();
  for (std::int64_t n = 0; n < 20; ++n) {
    Take(state, One(PerMinuteOverride(fmt::format("extra-{}", n)), 30 + n), kStateStart);
  }
  return state;
}

TEST(BucketState, TheMeterNearestToFullLeavesForANewOne) {
  BucketState state = FilledState();
  Take(state, One(PerMinuteOverride("new"), 1), kStateStart);
  EXPECT_EQ(state.extras->meters.size(), kMaxExtraMeters);
  EXPECT_EQ(FindExtra(state.extras.get(), "extra-0"), nullptr);
  EXPECT_NE(FindExtra(state.extras.get(), "extra-1"), nullptr);
  EXPECT_EQ(state.extras->last_left, kStateStart);
  EXPECT_EQ(state.extras->left_full, kStateStart + Seconds(30));
}

TEST(BucketState, ALimitThatLeftEarlyComesBackAsItWouldBe) {
  BucketState state = FilledState();
  const TargetPtr first = PerMinuteOverride("extra-0");
  const std::int64_t before = Available(state, first, kStateStart + Seconds(7));
  Take(state, One(PerMinuteOverride("new"), 1), kStateStart);
  EXPECT_EQ(Available(state, first, kStateStart), 30);
  EXPECT_EQ(Available(state, first, kStateStart + Seconds(7)), before);
  EXPECT_EQ(Available(state, first, kStateStart + Seconds(30)), 60);
}

// A slow limit left early. A fast limit that was never there must not be refused until the slow one
// would be full.
TEST(BucketState, AFastLimitFillsAtItsOwnRateThoughASlowOneLeftEarly) {
  BucketState state = EmptyState();
  for (std::int64_t n = 0; n < 21; ++n) {
    const Limit slow{fmt::format("slow-{}", n), {60'000, 60'000, 86'400'000}};
    Take(state, One(MakeTarget(kAcme, {slow}, LimitSource::kOverride), 50), kStateStart);
  }
  const TargetPtr fast = PerMinuteOverride("fast", 6000);
  EXPECT_EQ(Available(state, fast, kStateStart), 0);
  EXPECT_EQ(Available(state, fast, kStateStart + Seconds(1)), 100);
  EXPECT_EQ(Available(state, fast, kStateStart + Seconds(60)), 6000);
}

TEST(BucketState, AnOverrideTakesItsMetersTogether) {
  BucketState state = FilledState();
  std::vector<Limit> limits;
  for (int n = 0; n < 20; ++n) limits.push_back({fmt::format("other-{}", n), PerMinute(60)});
  const Charge all{MakeTarget(kAcme, limits, LimitSource::kOverride),
                   std::vector<std::int64_t>(20, 1000)};
  ASSERT_TRUE(CheckSpace(&state, all, kStateStart));
  Take(state, all, kStateStart);
  EXPECT_EQ(state.extras->meters.size(), kMaxExtraMeters);
  EXPECT_NE(FindExtra(state.extras.get(), "other-19"), nullptr);
  limits.push_back({"one-too-many", PerMinute(60)});
  const Charge more{MakeTarget(kAcme, limits, LimitSource::kOverride),
                    std::vector<std::int64_t>(21, 1000)};
  EXPECT_EQ(CheckSpace(&state, more, kStateStart).error().code, Code::kFailedPrecondition);
}

TEST(BucketState, ADebtLeavesOnlyWhenAllAreInDebtAndResolutionNeedsTheSpace) {
  const TargetPtr two = MakeTarget(kAcme, {{"rpm", PerMinute(60)}, {"tpm", PerMinute(60)}});
  BucketState state = NewBucketState(two, kStateStart);
  Adjust(state, {two, {0, 500'000}}, kStateStart);
  for (std::int64_t n = 0; n < 20; ++n) {
    Adjust(state, One(PerMinuteOverride(fmt::format("extra-{}", n)), 100 + n), kStateStart);
  }
  const TargetPtr one = MakeTarget(kAcme, {{"rpm", PerMinute(60)}});
  Take(state, One(one, 1), kStateStart);
  EXPECT_EQ(state.extras->meters.size(), kMaxExtraMeters);
  EXPECT_EQ(FindExtra(state.extras.get(), "extra-0"), nullptr) << "the smallest debt";
  EXPECT_NE(FindExtra(state.extras.get(), "tpm"), nullptr);
}

// A meter whose time is ahead of the bucket's must not be refilled twice for the same time.
TEST(BucketState, AMeterThatIsAheadRejoinsWithoutRefillingTwice) {
  const TargetPtr rpm = MakeTarget(kAcme, {{"rpm", PerMinute(60)}});
  BucketState state = NewBucketState(rpm, kStateStart);
  Take(state, One(rpm, 60), kStateStart);
  Take(state, One(PerMinuteOverride("tpm"), 60), kStateStart + Seconds(30));
  const TargetPtr both = MakeTarget(kAcme, {{"rpm", PerMinute(60)}, {"tpm", PerMinute(60)}});
  Take(state, {both, {1000, 0}}, kStateStart + Seconds(10));
  EXPECT_EQ(state.bucket.time, kStateStart + Seconds(30));
  EXPECT_EQ(ViewOf(&state, *both, 1, kStateStart + Seconds(30)).meter.tokens, 0);
}

// Fails if: a row with more debts than fit, which no store writes, ends the process.
TEST(BucketState, MoreDebtsThanFitDoNotEndTheProcess) {
  const TargetPtr rpm = MakeTarget(kAcme, {{"rpm", PerMinute(60)}});
  BucketState state = NewBucketState(rpm, kStateStart);
  state.extras = std::make_unique<ExtraMeters>();
  for (int n = 0; n < 21; ++n) {
    Meter debt = FullMeter(PerMinute(60));
    debt.tokens = -1000 - n;
    state.extras->meters.push_back({fmt::format("extra-{}", n), debt, kStateStart});
  }
  const Charge charge = One(PerMinuteOverride("rpm"), 1);
  ASSERT_TRUE(CheckSpace(&state, charge, kStateStart));
  Take(state, charge, kStateStart);
  EXPECT_EQ(Available(state, rpm, kStateStart), 59);
  EXPECT_EQ(state.extras->meters.size(), kMaxExtraMeters);
  EXPECT_EQ(CheckSpace(&state, One(PerMinuteOverride("new"), 1), kStateStart).error().code,
            Code::kFailedPrecondition);
}

TEST(BucketState, ARecordSaysAllThatThereIs) {
  const BucketState state = FilledState();
  const BucketRecord record = RecordOf(state);
  EXPECT_EQ(record.extras.meters.size(), 20U);
  EXPECT_EQ(RecordOf(StateOf(record)), record);
  EXPECT_EQ(FullAt(state), kStateStart + Seconds(49));
}

}  // namespace
}  // namespace weir
