#include "weir/store/bucket/bucket_table.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "weir/sim/sim_scheduler.h"
#include "weir/store/bucket/adjust_dedup.h"
#include "weir/store/bucket/bucket_state.h"
#include "weir/store/testing/contract_caller.h"

namespace weir {
namespace {

TargetPtr PerSecondTarget(const std::string& entity, std::int64_t tokens) {
  return MakeTarget({entity, "gpt-4", 0}, {{"rpm", PerSecond(tokens)}});
}

bool Take(BucketTable& table, const TargetPtr& target, std::int64_t tokens, UnixMillis now) {
  const Charge charge{target, {tokens * kMillitokens}};
  const Result<Decision> decision = table.Acquire({&charge, 1}, now);
  return decision.has_value() && decision->admitted;
}

/// Drains the table. Returns the tokens left by entity, or -1 for a removal.
std::map<std::string, std::int64_t> Drain(BucketTable& table) {
  std::map<std::string, std::int64_t> told;
  table.DrainChanges([&](const BucketKey& key, const BucketState* state, std::uint32_t&) {
    told[key.entity] = state == nullptr ? -1 : state->bucket.meters[0].tokens / kMillitokens;
  });
  return told;
}

using Told = std::map<std::string, std::int64_t>;

TEST(BucketTable, DrainTellsEachChangedBucketOnceInItsLastState) {
  BucketTable table({.track_changes = true});
  const TargetPtr acme = PerSecondTarget("acme", 10);
  EXPECT_TRUE(Take(table, acme, 3, kStart));
  EXPECT_TRUE(Take(table, acme, 4, kStart));
  EXPECT_TRUE(Take(table, PerSecondTarget("zeta", 5), 5, kStart));
  EXPECT_EQ(Drain(table), (Told{{"acme", 3}, {"zeta", 0}}));
  EXPECT_EQ(Drain(table), Told{});
}

TEST(BucketTable, ARefusalIsNoChange) {
  BucketTable table({.track_changes = true});
  const TargetPtr acme = PerSecondTarget("acme", 2);
  EXPECT_TRUE(Take(table, acme, 2, kStart));
  Drain(table);
  EXPECT_FALSE(Take(table, acme, 1, kStart));
  EXPECT_EQ(Drain(table), Told{});
}

/// Records the time by which each reported bucket was ahead.
class AheadLog final : public Log {
 public:
  bool IsEnabled(LogLevel) const override { return true; }
  void Write(LogLevel, std::string_view event, std::span<const LogField> fields) override {
    ASSERT_EQ(event, "clock.stored_time_ahead");
    ASSERT_EQ(fields.size(), 4U);
    ahead.push_back(std::get<std::int64_t>(fields[3].value));
  }
  std::vector<std::int64_t> ahead;
};

constexpr milliseconds kManyYears = std::chrono::days(74 * 365);

// Fails if: a time far ahead stays, which it would for 74 years, or refills tokens.
TEST(BucketTable, C4ATimeThatIsFarAheadIsSetToNowAndItsTokensStay) {
  AheadLog log;
  BucketTable table({.track_changes = true, .log = &log});
  const TargetPtr acme = PerSecondTarget("acme", 10);
  EXPECT_TRUE(Take(table, acme, 10, kStart + kManyYears));
  Drain(table);
  EXPECT_FALSE(Take(table, acme, 1, kStart)) << "nothing is refilled";
  EXPECT_EQ(Drain(table), (Told{{"acme", 0}})) << "written, though the request was refused";
  EXPECT_EQ(log.ahead, std::vector<std::int64_t>{kManyYears.count()});
  EXPECT_TRUE(Take(table, acme, 1, kStart + milliseconds(100)));
  EXPECT_EQ(log.ahead.size(), 1U);
}

TEST(BucketTable, C4AnAdjustSetsATimeThatIsFarAheadToNow) {
  BucketTable table;
  const TargetPtr acme = PerSecondTarget("acme", 10);
  EXPECT_TRUE(Take(table, acme, 10, kStart + kManyYears));
  const Charge back{acme, {-1 * kMillitokens}};
  ASSERT_TRUE(table.Adjust({&back, 1}, {1, 1}, kStart));
  EXPECT_EQ(table.Read(acme->key)->bucket.time, kStart);
  EXPECT_EQ(table.Read(acme->key)->bucket.meters[0].tokens, 1 * kMillitokens);
}

// Fails if: the tolerance is missing, so that clocks that differ a little give tokens twice.
TEST(BucketTable, ATimeUpToAMinuteAheadStaysAndRefillsNothingUntilItIsReached) {
  AheadLog log;
  BucketTable table({.log = &log});
  const TargetPtr acme = PerSecondTarget("acme", 10);
  EXPECT_TRUE(Take(table, acme, 10, kStart + kMaxAhead));
  EXPECT_FALSE(Take(table, acme, 1, kStart));
  EXPECT_FALSE(Take(table, acme, 1, kStart + kMaxAhead + milliseconds(99)));
  EXPECT_TRUE(Take(table, acme, 1, kStart + kMaxAhead + milliseconds(100)));
  EXPECT_TRUE(log.ahead.empty());
}

// Fails if: only the caller's `now` decides, which may have been read before a suspension.
TEST(BucketTable, ACallerThatWasSuspendedSetsNothingBack) {
  sim::SimClock clock;
  BucketTable table({.time = BucketTime::FromWall(clock)});
  const UnixMillis before = table.Now();
  clock.Suspend(std::chrono::hours(1), /*is_counted=*/true);
  const TargetPtr acme = PerSecondTarget("acme", 10);
  EXPECT_TRUE(Take(table, acme, 10, table.Now()));
  EXPECT_FALSE(Take(table, acme, 1, before));
  EXPECT_EQ(table.Read(acme->key)->bucket.time, table.Now());
  EXPECT_FALSE(Take(table, acme, 1, table.Now()));
}

TEST(BucketTable, ACascadeThatTheParentRefusesChangesNothing) {
  BucketTable table({.track_changes = true});
  const TargetPtr parent = PerSecondTarget("parent", 1);
  EXPECT_TRUE(Take(table, parent, 1, kStart));
  Drain(table);
  const std::vector<Charge> both{{PerSecondTarget("child", 5), {1000}}, {parent, {1000}}};
  const Result<Decision> decision = table.Acquire(both, kStart);
  ASSERT_TRUE(decision.has_value());
  EXPECT_FALSE(decision->admitted);
  EXPECT_EQ(Drain(table), Told{});
}

TEST(BucketTable, WithoutTrackingNothingIsListed) {
  BucketTable table;
  EXPECT_TRUE(Take(table, PerSecondTarget("acme", 2), 2, kStart));
  EXPECT_EQ(Drain(table), Told{});
}

TEST(BucketTable, AnIdleBucketLeavesAfterTheGraceAndItsRemovalIsTold) {
  BucketTable table({.track_changes = true, .idle_grace = milliseconds(60'000)});
  EXPECT_TRUE(Take(table, PerSecondTarget("acme", 2), 2, kStart));
  Drain(table);
  // The bucket is full again after one second; the grace counts from then.
  table.SweepIdle(kStart + milliseconds(60'999));
  EXPECT_EQ(table.size(), 1U);
  table.SweepIdle(kStart + milliseconds(61'000));
  EXPECT_EQ(table.size(), 0U);
  EXPECT_EQ(Drain(table), (Told{{"acme", -1}}));
}

TEST(BucketTable, AChangeThatIsNotDrainedKeepsItsBucket) {
  BucketTable table({.track_changes = true});
  EXPECT_TRUE(Take(table, PerSecondTarget("acme", 2), 2, kStart));
  table.SweepIdle(kStart + milliseconds(1'000'000));
  EXPECT_EQ(Drain(table), (Told{{"acme", 0}}));
}

TEST(BucketTable, ABucketThatComesBackAfterItsRemovalIsToldAfterIt) {
  BucketTable table({.track_changes = true});
  EXPECT_TRUE(Take(table, PerSecondTarget("acme", 2), 2, kStart));
  Drain(table);
  table.EraseEntity("acme");
  EXPECT_TRUE(Take(table, PerSecondTarget("acme", 2), 1, kStart));
  EXPECT_EQ(Drain(table), (Told{{"acme", 1}}));
}

TEST(BucketTable, ABucketThatWasErasedBeforeAnyDrainIsNeverTold) {
  BucketTable table({.track_changes = true});
  EXPECT_TRUE(Take(table, PerSecondTarget("acme", 2), 2, kStart));
  table.EraseEntity("acme");
  EXPECT_EQ(table.size(), 0U);
  EXPECT_EQ(Drain(table), Told{});
}

TEST(BucketTable, ALoadedBucketIsInPlaceAndNoChange) {
  BucketTable first({.track_changes = true});
  EXPECT_TRUE(Take(first, PerSecondTarget("acme", 5), 3, kStart));
  const std::optional<BucketRecord> record = first.Read({"acme", "gpt-4", 0});
  ASSERT_TRUE(record.has_value());

  BucketTable second({.track_changes = true});
  second.Load(*record);
  EXPECT_EQ(Drain(second), Told{});
  EXPECT_EQ(second.Read({"acme", "gpt-4", 0}), record);
  EXPECT_FALSE(Take(second, PerSecondTarget("acme", 5), 3, kStart));
  EXPECT_TRUE(Take(second, PerSecondTarget("acme", 5), 2, kStart));
  second.EraseEntity("acme");
  EXPECT_EQ(Drain(second), (Told{{"acme", -1}}));
}

// Single requests from very many entities must not fill the memory.
// Fails if: a listing continues at an unknown place, and skips buckets or returns them again.
TEST(BucketTable, RefusesTheCursorOfAnotherProcess) {
  BucketTable table;
  for (const std::string entity : {"acme", "bell", "cern"}) {
    EXPECT_TRUE(Take(table, PerSecondTarget(entity, 5), 1, kStart));
  }
  const auto page = table.List({}, {.cursor = {}, .limit = 1});
  ASSERT_TRUE(page);
  const auto rest = table.List({}, {.cursor = page->next, .limit = 9});
  ASSERT_TRUE(rest);
  EXPECT_EQ(rest->items.size(), 2U);

  const std::size_t mark_ends = page->next.find('#');
  const std::string elsewhere =
      std::to_string(std::stoul(page->next) ^ 1U) + page->next.substr(mark_ends);
  const Error error = ErrorOf(table.List({}, {.cursor = elsewhere, .limit = 9}));
  EXPECT_EQ(error.code, Code::kInvalidArgument);
  EXPECT_NE(error.message.find("the process that returned it"), std::string::npos);
}

TEST(BucketTable, StaysBoundedUnderEverNewKeys) {
  BucketTable table({.stripes = 4, .idle_grace = milliseconds(1000)});
  constexpr int kKeys = 50'000;
  std::size_t most = 0;
  for (int i = 0; i < kKeys; ++i) {
    const UnixMillis now = kStart + milliseconds(i);
    EXPECT_TRUE(Take(table, PerSecondTarget("user-" + std::to_string(i), 1), 1, now));
    if (i % 1000 == 0) most = std::max(most, table.size());
  }
  // The keys of the last two seconds are not idle yet, and the sweep may be somewhat behind.
  EXPECT_LT(most, 10'000U);
}

// Like the test above, but without new keys: idle buckets are removed while other buckets are used.
TEST(BucketTable, UseOfOneBucketClearsItsIdleNeighbours) {
  BucketTable table({.stripes = 1, .idle_grace = milliseconds(1000)});
  for (int i = 0; i < 1000; ++i) {
    EXPECT_TRUE(Take(table, PerSecondTarget("user-" + std::to_string(i), 1), 1, kStart));
  }
  const TargetPtr busy = PerSecondTarget("busy", 1'000'000);
  for (int i = 0; i < 50'000; ++i) Take(table, busy, 1, kStart + milliseconds(10'000));
  EXPECT_EQ(table.size(), 1U);
}

TEST(BucketTable, AnAdjustOfAnOldLeaseKeepsTheNewParameters) {
  BucketTable table;
  const TargetPtr old =
      MakeTarget({"acme", "gpt-4", 0}, {{"rpm", PerSecond(10)}, {"tpm", PerSecond(50)}});
  const std::vector<Charge> take{{old, {1000, 20'000}}};
  ASSERT_TRUE(table.Acquire(take, kStart)->admitted);
  // Meanwhile tpm moved to the front and grew, and rpm left.
  const TargetPtr now = MakeTarget({"acme", "gpt-4", 0}, {{"tpm", PerSecond(100)}});
  const std::vector<Charge> one{{now, {1000}}};
  ASSERT_TRUE(table.Acquire(one, kStart)->admitted);

  const std::vector<Charge> correction{{old, {1000, 5000}}};
  ASSERT_TRUE(table.Adjust(correction, {1, 1}, kStart).has_value());
  const std::optional<BucketRecord> record = table.Read({"acme", "gpt-4", 0});
  ASSERT_TRUE(record.has_value());
  EXPECT_EQ(record->names, std::vector<std::string>{"tpm"});
  EXPECT_EQ(record->bucket.meters[0].quota, PerSecond(100));
  EXPECT_EQ(record->bucket.meters[0].tokens, 74'000);
  ASSERT_EQ(record->extras.meters.size(), 1U);
  EXPECT_EQ(record->extras.meters[0].name, "rpm");
  EXPECT_EQ(record->extras.meters[0].meter.tokens, 8000);
}

TEST(BucketTable, C2AnExtraMeterLeavesWhenItIsFullAndKeepsItsBucketUntilThen) {
  BucketTable table({.track_changes = true, .idle_grace = milliseconds(60'000)});
  const TargetPtr both =
      MakeTarget({"acme", "gpt-4", 0}, {{"rpm", PerSecond(10)}, {"tpm", PerMinute(60)}});
  const std::vector<Charge> take{{both, {1000, 30'000}}};
  ASSERT_TRUE(table.Acquire(take, kStart)->admitted);
  ASSERT_TRUE(Take(table, PerSecondTarget("acme", 10), 1, kStart));
  Drain(table);
  // rpm is full after 200 ms, tpm after 30 s.
  EXPECT_EQ(table.SweepIdle(kStart + milliseconds(89'999)), kStart + milliseconds(90'000));
  EXPECT_EQ(table.size(), 1U);
  EXPECT_EQ(table.SweepIdle(kStart + milliseconds(90'000)), std::nullopt);
  EXPECT_EQ(table.size(), 0U);
}

TEST(BucketTable, AFullExtraMeterLeavesABucketThatIsInUse) {
  BucketTable table({.stripes = 1, .track_changes = true, .idle_grace = milliseconds(1000)});
  const TargetPtr both =
      MakeTarget({"acme", "gpt-4", 0}, {{"rpm", PerSecond(10)}, {"tpm", PerMinute(60)}});
  const std::vector<Charge> take{{both, {1000, 30'000}}};
  ASSERT_TRUE(table.Acquire(take, kStart)->admitted);
  const TargetPtr rpm = PerSecondTarget("acme", 10);
  ASSERT_TRUE(Take(table, rpm, 1, kStart));
  const UnixMillis later = kStart + milliseconds(32'000);
  ASSERT_TRUE(Take(table, rpm, 10, later));
  Drain(table);
  table.SweepIdle(later);
  EXPECT_TRUE(table.Read(rpm->key)->extras.meters.empty());
  EXPECT_EQ(Drain(table), (Told{{"acme", 0}})) << "the file drops it too";
}

TEST(BucketTable, C17RefusesNewBucketsAtItsBoundAndDropsNoneThatIsNotFull) {
  BucketTable table({.stripes = 2, .idle_grace = milliseconds(0), .max_buckets = 3});
  for (const char* entity : {"a", "b"}) {
    ASSERT_TRUE(Take(table, PerSecondTarget(entity, 1), 1, kStart));
  }
  const std::vector<Charge> two{{PerSecondTarget("c", 1), {1000}},
                                {PerSecondTarget("d", 1), {1000}}};
  const Result<Decision> refused = table.Acquire(two, kStart);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kResourceExhausted);
  EXPECT_NE(refused.error().message.find("at most 3 may"), std::string::npos)
      << refused.error().message;
  EXPECT_EQ(table.size(), 2U);
  ASSERT_TRUE(Take(table, PerSecondTarget("c", 100), 1, kStart));
  EXPECT_FALSE(Take(table, PerSecondTarget("d", 1), 1, kStart + milliseconds(5)));
  const Charge debt{PerSecondTarget("d", 1), {1000}};
  EXPECT_EQ(table.Adjust({&debt, 1}, {1, 1}, kStart).error().code, Code::kResourceExhausted);
  const Charge back{PerSecondTarget("d", 1), {-1000}};
  EXPECT_TRUE(table.Adjust({&back, 1}, {1, 2}, kStart)) << "a full bucket needs no entry";
  EXPECT_FALSE(Take(table, PerSecondTarget("a", 1), 1, kStart)) << "those that are there go on";
  // A bucket that is full makes space, once the last sweep was a second ago.
  EXPECT_TRUE(Take(table, PerSecondTarget("d", 1), 1, kStart + milliseconds(1001)));
  EXPECT_LE(table.size(), 3U);
}

// Fails if: the count of buckets misses a bucket that was erased, swept or loaded.
TEST(BucketTable, C17CountsBucketsThatComeAndGo) {
  BucketTable table({.stripes = 2, .idle_grace = milliseconds(0), .max_buckets = 2});
  for (int round = 0; round < 5; ++round) {
    for (const char* entity : {"a", "b"}) {
      ASSERT_TRUE(Take(table, PerSecondTarget(entity, 1), 1, kStart)) << round;
    }
    const auto record = table.Read({"a", "gpt-4", 0});
    EXPECT_EQ(table.size(), 2U);
    table.EraseEntity("a");
    EXPECT_EQ(table.size(), 1U);
    table.Load(*record);
    EXPECT_EQ(table.size(), 2U);
    table.SweepIdle(kStart + milliseconds(1000));
    EXPECT_EQ(table.size(), 0U);
  }
}

// A caller whose clock is behind that of another one.
TEST(BucketTable, TheWaitIsExactAlsoForATimeBehindTheBuckets) {
  BucketTable table;
  const TargetPtr acme = PerSecondTarget("acme", 10);
  ASSERT_TRUE(Take(table, acme, 10, kStart));
  const UnixMillis behind = kStart - milliseconds(500);
  const Charge charge{acme, {1000}};
  const Result<Decision> decision = table.Acquire({&charge, 1}, behind);
  ASSERT_TRUE(decision.has_value());
  EXPECT_EQ(decision->retry_after, milliseconds(600));
  EXPECT_FALSE(Take(table, acme, 1, behind + decision->retry_after - milliseconds(1)));
  EXPECT_TRUE(Take(table, acme, 1, behind + decision->retry_after));
}

AdjustId NthToken(std::uint64_t n) { return {n, 0}; }

TEST(AdjustDedup, ATokenThatCameAgainIsNotForgottenAtItsOldNumber) {
  AdjustDedup tokens;
  EXPECT_TRUE(tokens.Insert(NthToken(0), kStart));
  tokens.Forget(NthToken(0));
  EXPECT_TRUE(tokens.Insert(NthToken(0), kStart));
  for (std::uint64_t n = 1; n < AdjustDedup::kIdsPerPart; ++n) {
    ASSERT_TRUE(tokens.Insert(NthToken(n), kStart));
  }
  EXPECT_FALSE(tokens.Insert(NthToken(0), kStart));
  EXPECT_TRUE(tokens.Insert(NthToken(AdjustDedup::kIdsPerPart), kStart));
  EXPECT_TRUE(tokens.Insert(NthToken(0), kStart));
}

TEST(AdjustDedup, C20AreBoundedByTimeAndByCount) {
  AdjustDedup tokens;
  for (std::uint64_t n = 0; n < 1000; ++n) ASSERT_TRUE(tokens.Insert(NthToken(n), kStart));
  const UnixMillis last = kStart + AdjustDedup::kMemory - milliseconds(1);
  EXPECT_FALSE(tokens.Insert(NthToken(0), last)) << "not before their time";
  EXPECT_EQ(tokens.size(), 1000U);
  EXPECT_TRUE(tokens.Insert(NthToken(0), kStart + AdjustDedup::kMemory));
  EXPECT_EQ(tokens.size(), 1U);
}

}  // namespace
}  // namespace weir
