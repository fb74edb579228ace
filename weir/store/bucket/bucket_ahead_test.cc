// Buckets with times far ahead of bucket time, written during a boot under a wrong clock.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <utility>
#include <vector>

#include "weir/store/bucket/bucket_state.h"
#include "weir/store/bucket/bucket_table.h"
#include "weir/store/testing/contract_caller.h"

namespace weir {
namespace {

constexpr milliseconds kYearAhead = std::chrono::days(365);
const BucketKey kAheadKey{"acme", "gpt-4", 0};

TargetPtr AheadOverride(const std::string& name, const Quota& quota = PerMinute(60)) {
  return MakeTarget(kAheadKey, {{name, quota}}, LimitSource::kOverride);
}

TargetPtr WithSecond(const std::string& second) {
  return MakeTarget(kAheadKey, {{"rpm", PerMinute(60)}, {second, PerMinute(60)}});
}

Decision AskAt(BucketTable& table, const TargetPtr& target, std::int64_t tokens, UnixMillis now) {
  Charge charge{target, std::vector<std::int64_t>(target->limits.size(), 0)};
  charge.amounts[0] = tokens * kMillitokens;
  auto decision = table.Acquire({&charge, 1}, now);
  EXPECT_TRUE(decision) << decision.error().message;
  return decision.value_or(Decision());
}

std::size_t CountChanges(BucketTable& table) {
  return table.DrainChanges([](const BucketKey&, const BucketState*, std::uint32_t&) {});
}

/// Records the table's log: the events, and the number of buckets that they report.
class SetBackLog final : public Log {
 public:
  bool IsEnabled(LogLevel) const override { return true; }
  void Write(LogLevel, std::string_view event, std::span<const LogField> fields) override {
    if (event == "clock.stored_time_ahead") ++named;
    if (event == "clock.stored_times_ahead") more += std::get<std::int64_t>(fields[0].value);
  }
  int named = 0;
  std::int64_t more = 0;
};

/// Uses `rpm` and 21 limits that only requests name under a clock that is a year ahead, so one
/// limit leaves early.
void UseUnderTheWrongClock(BucketTable& table) {
  const UnixMillis wrong = kStart + kYearAhead;
  const TargetPtr rpm = MakeTarget(kAheadKey, {{"rpm", PerMinute(60)}});
  ASSERT_TRUE(AskAt(table, rpm, 60, wrong).admitted);
  for (std::int64_t n = 0; n < 21; ++n) {
    const TargetPtr extra = AheadOverride(fmt::format("extra-{}", n));
    ASSERT_TRUE(AskAt(table, extra, 30 + n, wrong).admitted);
  }
  ASSERT_NE(table.Read(kAheadKey)->extras.last_left, UnixMillis{});
}

// Fails if: the time at which the latest limit left stays ahead of T.
TEST(BucketAhead, C4ANewLimitDoesNotWaitForAWrongClock) {
  BucketTable table;
  UseUnderTheWrongClock(table);
  const TargetPtr hourly = AheadOverride("hourly", PerPeriod(1, std::chrono::hours(1)));
  EXPECT_LE(AskAt(table, hourly, 1, kStart).retry_after, std::chrono::seconds(30));
  EXPECT_TRUE(AskAt(table, hourly, 1, kStart + std::chrono::seconds(30)).admitted);
  const ExtraMeters extras = table.Read(kAheadKey)->extras;
  EXPECT_EQ(extras.last_left, kStart + std::chrono::seconds(30)) << "it made another one leave";
}

// Fails if: a bucket that a refused request set back is stored only with the next change.
TEST(BucketAhead, C4WhatARefusalSetsBackIsDueToBeStored) {
  BucketTable table;
  const TargetPtr rpm = MakeTarget(kAheadKey, {{"rpm", PerMinute(60)}});
  const Charge most{rpm, {kMaxMillitokens}};
  std::uint64_t adjusts = 0;
  const auto adjust = [&](UnixMillis now) {
    return table.Adjust({&most, 1}, AdjustId{.high = 1, .low = ++adjusts}, now);
  };
  for (int i = 0; i < kMaxDebt / kMaxMillitokens; ++i) ASSERT_TRUE(adjust(kStart + kYearAhead));
  table.TakeDrainDue();
  ASSERT_FALSE(adjust(kStart)) << "its debt would be too large";
  EXPECT_EQ(table.Read(kAheadKey)->bucket.time, kStart) << "it was not set back";
  EXPECT_TRUE(table.TakeDrainDue());
}

// Fails if: joining limits move the bucket to a time that is far ahead.
TEST(BucketAhead, C4ChangesOfTheLimitsAdmitACapacityForTheWrongBoot) {
  BucketTable table;
  UseUnderTheWrongClock(table);
  std::int64_t admitted = 0;
  for (int i = 0; i < 40; ++i) {
    const TargetPtr target = WithSecond(i % 2 == 0 ? "odd" : "even");
    const Charge joins{target, {0, 1000}};
    ASSERT_TRUE(table.Acquire({&joins, 1}, kStart)->admitted) << i;
    if (AskAt(table, target, 60, kStart).admitted) admitted += 60;
  }
  EXPECT_EQ(admitted, 0);
}

// Fails if: limits join at a time that is far ahead when it was not set back before.
TEST(BucketAhead, C4LimitsDoNotJoinAtATimeThatIsFarAhead) {
  BucketState state = NewBucketState(WithSecond("odd"), kStart);
  Take(state, {WithSecond("odd"), {60'000, 1000}}, kStart);
  state.extras = std::make_unique<ExtraMeters>();
  state.extras->last_left = kStart + kYearAhead;
  state.extras->left_full = kStart + kYearAhead + milliseconds(1);
  state.extras->meters.push_back({"other", FullMeter(PerMinute(1)), kStart + kYearAhead});
  state.extras->meters.back().meter.tokens = 0;
  Take(state, {WithSecond("even"), {0, 1000}}, kStart);
  EXPECT_EQ(state.bucket.time, kStart);
  EXPECT_EQ(state.bucket.meters[0].tokens, 0);
}

// Fails if: the sweep skips a bucket whose time is far ahead, which it would do until that time.
TEST(BucketAhead, C4TheSweepSetsBucketsOfAWrongBootBack) {
  SetBackLog log;
  BucketTable table({.stripes = 1, .track_changes = true, .log = &log});
  for (int i = 0; i < 20; ++i) {
    const BucketKey key{fmt::format("entity-{}", i), "gpt-4", 0};
    const TargetPtr target = MakeTarget(key, {{"rpm", PerSecond(10)}});
    ASSERT_TRUE(AskAt(table, target, 10, kStart + kYearAhead).admitted);
  }
  CountChanges(table);
  const milliseconds leaves = std::chrono::seconds(61);
  EXPECT_EQ(table.SweepIdle(kStart), kStart + leaves);
  EXPECT_EQ(CountChanges(table), 20U) << "the file learns of it";
  EXPECT_EQ(table.SweepIdle(kStart + leaves), std::nullopt);
  EXPECT_EQ(table.size(), 0U);
  EXPECT_LE(log.named, 10);
  EXPECT_EQ(log.named + log.more, 20);
}

TEST(BucketAhead, TheSweepOfATakeLeavesATimeUpToAMinuteAhead) {
  BucketTable table({.stripes = 1, .track_changes = true});
  const TargetPtr other = MakeTarget({"zeta", "gpt-4", 0}, {{"rpm", PerSecond(10)}});
  ASSERT_TRUE(AskAt(table, other, 10, kStart + kMaxAhead).admitted);
  CountChanges(table);
  ASSERT_TRUE(AskAt(table, WithSecond("odd"), 1, kStart).admitted) << "sweeps a little";
  EXPECT_EQ(CountChanges(table), 1U);
  EXPECT_EQ(table.Read(other->key)->bucket.time, kStart + kMaxAhead);
}

rc::Gen<UnixMillis> AnyStoredTime() {
  return rc::gen::map(
      rc::gen::oneOf(rc::gen::element<std::int64_t>(INT64_MIN, -1, 0, kStart.value,
                                                    kStart.value + 60'000, INT64_MAX),
                     rc::gen::arbitrary<std::int64_t>()),
      [](std::int64_t value) { return UnixMillis{value}; });
}

BucketRecord AnyStoredBucket() {
  BucketRecord record{.key = kAheadKey, .names = {"rpm"}, .bucket = {.time = *AnyStoredTime()}};
  const auto any_meter = [] {
    Meter meter = FullMeter(PerMinute(60));
    meter.tokens = *rc::gen::element<std::int64_t>(-kMaxDebt, -1, 0, 30'000, 60'000);
    return meter;
  };
  record.bucket.meters.push_back(any_meter());
  const int extras = *rc::gen::inRange(0, 25);
  for (int n = 0; n < extras; ++n) {
    record.extras.meters.push_back({fmt::format("extra-{}", n), any_meter(), *AnyStoredTime()});
  }
  record.extras.last_left = *AnyStoredTime();
  record.extras.left_full = *AnyStoredTime();
  return record;
}

// Fails if: more meters than fit, or times that no store writes, end the process or admit more than
// the capacity. (Sanitizers detect each overflow.)
RC_GTEST_PROP(BucketAhead, AnyStoredTimesAndCountsAreSafe, ()) {
  BucketTable table({.stripes = 1, .track_changes = true});
  table.Load(AnyStoredBucket());
  const std::vector<TargetPtr> targets = {AheadOverride("rpm"), AheadOverride("extra-1"),
                                          AheadOverride("new"), WithSecond("extra-2"),
                                          WithSecond("odd")};
  std::int64_t taken = 0;
  for (int step = 0; step < 8; ++step) {
    const TargetPtr target = targets[*rc::gen::inRange<std::size_t>(0, targets.size())];
    Charge charge{target, std::vector<std::int64_t>(target->limits.size(), 20'000)};
    const auto decision = table.Acquire({&charge, 1}, kStart);
    if (!decision) RC_ASSERT(decision.error().code == Code::kFailedPrecondition);
    if (decision && decision->admitted && target->limits[0].name == "rpm") taken += 20'000;
    (void)table.Adjust({&charge, 1}, AdjustId{1, static_cast<std::uint64_t>(step)}, kStart);
    (void)table.SweepIdle(kStart);
  }
  // A capacity, and the refill up to a stored time that is a minute ahead.
  RC_ASSERT(taken <= 2 * 60'000);
}

}  // namespace
}  // namespace weir
