#include "weir/store/bucket/bucket_table.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "weir/sim/sim_scheduler.h"
#include "weir/store/bucket/adjust_dedup.h"
#include "weir/store/bucket/bucket_state.h"
#include "weir/store/bucket/bucket_use_passing.h"
#include "weir/store/testing/contract_caller.h"

namespace weir {
namespace {

TargetPtr PerSecondTarget(const std::string& entity, std::int64_t tokens) {
  return MakeTarget({entity, "gpt-4", 0}, {{"rpm", PerSecond(tokens)}});
}

TargetPtr PerMinuteTarget(const std::string& entity) {
  return MakeTarget({entity, "gpt-4", 0}, {{"rpm", PerMinute(60)}});
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

/// Drains the table and the ended hours of its buckets. Returns the used tokens by entity.
std::map<std::string, std::int64_t> DrainUse(BucketTable& table) {
  std::map<std::string, std::int64_t> used;
  const UseSink sum = [&](const BucketKey& key, const std::vector<HourOfUse>& hours) {
    for (const HourOfUse& hour : hours) used[key.entity] += hour.limits[0].used / kMillitokens;
  };
  table.DrainChanges([](const BucketKey&, const BucketState*, std::uint32_t&) {},
                     UseDrain{.sink = sum, .most = 1000});
  return used;
}

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
  ASSERT_TRUE(table.Adjust({&back, 1}, AdjustId{1, 1}, kStart));
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

// Fails if: the bound excludes the last instant, or an adjust that failed uses up its id.
TEST(BucketTable, AnAdjustCountsUntilItsLastInstant) {
  BucketTable table;
  const TargetPtr acme = PerSecondTarget("acme", 10);
  ASSERT_TRUE(Take(table, acme, 10, kStart));
  const Charge back{acme, {-1000}};
  AdjustTerms terms = AdjustId{1, 1};
  terms.counts_by = kStart;
  EXPECT_EQ(table.Adjust({&back, 1}, terms, kStart + milliseconds(1)).error().code,
            Code::kDeadlineExceeded);
  EXPECT_EQ(table.Read(acme->key)->bucket.meters[0].tokens, 0);
  EXPECT_TRUE(table.Adjust({&back, 1}, terms, kStart));
  EXPECT_EQ(table.Read(acme->key)->bucket.meters[0].tokens, 1000);
  EXPECT_TRUE(table.Adjust({&back, 1}, terms, kStart + milliseconds(1))) << "it counts already";
  EXPECT_EQ(table.Read(acme->key)->bucket.meters[0].tokens, 1000);
}

// Fails if: only the time counts that the caller has read, before it was stopped for a while.
TEST(BucketTable, AnAdjustCountsInNoBucketThatIsRefilledUntilLater) {
  BucketTable table;
  const TargetPtr acme = PerSecondTarget("acme", 10);
  ASSERT_TRUE(Take(table, acme, 10, kStart));
  ASSERT_TRUE(Take(table, acme, 10, kStart + milliseconds(1'000)));
  const Charge back{acme, {-1000}};
  AdjustTerms terms = AdjustId{1, 1};
  terms.counts_by = kStart + milliseconds(200);
  EXPECT_EQ(table.Adjust({&back, 1}, terms, kStart).error().code, Code::kDeadlineExceeded);
  EXPECT_EQ(table.Read(acme->key)->bucket.meters[0].tokens, 0);
}

// Fails if: the debt is checked under the capacity that the adjust replaces.
TEST(BucketTable, TheDebtOfAnAdjustThatStoresLimitsIsThatUnderTheNewCapacity) {
  BucketTable table;
  const TargetPtr acme = PerSecondTarget("acme", 1'000'000'000);
  ASSERT_TRUE(Take(table, acme, 1, kStart));
  const Charge most{acme, {kMaxMillitokens}};
  std::uint64_t id = 0;
  while (table.Adjust({&most, 1}, AdjustId{1, ++id}, kStart)) continue;
  const std::int64_t before = table.Read(acme->key)->bucket.meters[0].tokens;
  const TargetPtr smaller = PerSecondTarget("acme", 2);
  const std::int64_t lost = 999'999'998 * kMillitokens;
  ASSERT_GT(before + kMaxDebt, lost) << "the new capacity alone is possible";
  const Charge too_much{smaller, {before + kMaxDebt - lost + 1}};
  AdjustTerms terms = AdjustId{2, 1};
  terms.stores_limits = true;
  EXPECT_EQ(table.Adjust({&too_much, 1}, terms, kStart).error().code, Code::kOutOfRange);
  EXPECT_EQ(table.Read(acme->key)->bucket.meters[0].tokens, before);
  const Charge enough{smaller, {before + kMaxDebt - lost}};
  EXPECT_TRUE(table.Adjust({&enough, 1}, terms, kStart));
  EXPECT_EQ(table.Read(acme->key)->bucket.meters[0].tokens, -kMaxDebt);
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
  ASSERT_TRUE(table.Adjust(correction, AdjustId{1, 1}, kStart).has_value());
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
  EXPECT_EQ(table.Adjust({&debt, 1}, AdjustId{1, 1}, kStart).error().code,
            Code::kResourceExhausted);
  const Charge back{PerSecondTarget("d", 1), {-1000}};
  EXPECT_TRUE(table.Adjust({&back, 1}, AdjustId{1, 2}, kStart)) << "a full bucket needs no entry";
  EXPECT_FALSE(Take(table, PerSecondTarget("a", 1), 1, kStart)) << "those that are there go on";
  // A bucket that is full makes space, once the last sweep was a second ago.
  EXPECT_TRUE(Take(table, PerSecondTarget("d", 1), 1, kStart + milliseconds(1001)));
  EXPECT_LE(table.size(), 3U);
}

// Fails if: a look passes although a debit of its bucket has no space.
TEST(BucketTable, C17RefusesALookAtABucketForWhichThereIsNoSpace) {
  BucketTable table({.stripes = 2, .idle_grace = milliseconds(0), .max_buckets = 2});
  for (const char* entity : {"a", "b"}) {
    ASSERT_TRUE(Take(table, PerSecondTarget(entity, 1), 1, kStart));
  }
  EXPECT_FALSE(Take(table, PerSecondTarget("c", 1), 0, kStart));
  EXPECT_TRUE(Take(table, PerSecondTarget("a", 1), 0, kStart)) << "its bucket exists";
  const std::vector<Charge> with_parent{{PerSecondTarget("a", 2), {1000}},
                                        {PerSecondTarget("parent", 1), {0}}};
  const UnixMillis refilled = kStart + milliseconds(999);
  EXPECT_EQ(ErrorOf(table.Acquire(with_parent, refilled)).code, Code::kResourceExhausted);
  // A bucket that is full makes space for the debit.
  EXPECT_TRUE(Take(table, PerSecondTarget("c", 1), 0, kStart + milliseconds(2000)));
  EXPECT_LT(table.size(), 2U);
}

/// Returns a bucket without tokens at kStart that is full again after `full_after`.
BucketRecord UsedUp(const std::string& entity, milliseconds full_after) {
  Meter meter = FullMeter({.capacity = 1000, .amount = 1000, .period = full_after.count()});
  meter.tokens = 0;
  return {
      .key = {entity, "gpt-4", 0}, .names = {"rpm"}, .bucket = {.time = kStart, .meters = {meter}}};
}

/// Requests a new bucket until one is admitted. Returns the number of refused requests, at most
/// `most`.
std::size_t RefusedUntilSpace(BucketTable& table, UnixMillis now, std::size_t most) {
  std::size_t refused = 0;
  while (refused < most && !Take(table, PerMinuteTarget("new"), 1, now)) ++refused;
  return refused;
}

// Fails if: a request sweeps more of a full table than it may, so that all requests of its thread
// wait; or if each request examines the same buckets.
TEST(BucketTable, ARequestAtAFullTableExaminesTheNextFewBuckets) {
  for (const std::size_t full : {0U, 9U, 10U, 55U, 99U}) {
    BucketTable table(
        {.stripes = 1, .idle_grace = milliseconds(0), .max_buckets = 100, .max_examined = 10});
    for (std::size_t i = 0; i < 100; ++i) {
      table.Load(UsedUp(std::to_string(i), milliseconds(i == full ? 1000 : 3'600'000)));
    }
    EXPECT_EQ(RefusedUntilSpace(table, kStart + milliseconds(1000), 100), full / 10);
    EXPECT_FALSE(table.Read({std::to_string(full), "gpt-4", 0}));
    EXPECT_EQ(table.size(), 100U);
  }
}

// Fails if: the pause begins before the whole table was examined, or there is none, so that each
// request at a full table takes longer.
TEST(BucketTable, AfterARoundWithoutSpaceNoRequestSweepsForASecond) {
  BucketTable table(
      {.stripes = 1, .idle_grace = milliseconds(0), .max_buckets = 100, .max_examined = 10});
  for (std::size_t i = 0; i < 100; ++i) {
    table.Load(UsedUp(std::to_string(i), milliseconds(i == 0 ? 1001 : 3'600'000)));
  }
  EXPECT_EQ(RefusedUntilSpace(table, kStart, 4), 4U);
  EXPECT_EQ(RefusedUntilSpace(table, kStart + milliseconds(1000), 6), 6U) << "the end of the round";
  EXPECT_EQ(RefusedUntilSpace(table, kStart + milliseconds(1999), 100), 100U);
  EXPECT_EQ(RefusedUntilSpace(table, kStart + milliseconds(2000), 100), 0U);
}

// Fails if: a bucket whose use no drain has reported keeps its space, or its use is lost; or each
// refused request causes a commit.
TEST(BucketTable, TheNextDrainReportsTheUseOfABucketThatMadeSpace) {
  BucketTable table({.stripes = 1,
                     .track_changes = true,
                     .idle_grace = milliseconds(0),
                     .max_buckets = 1,
                     .count_use = true});
  ASSERT_TRUE(Take(table, PerSecondTarget("a", 1), 1, kStart));
  EXPECT_EQ(DrainUse(table), (std::map<std::string, std::int64_t>{}));
  EXPECT_FALSE(Take(table, PerSecondTarget("b", 1), 1, kStart));
  EXPECT_FALSE(table.TakeDrainDue()) << "nothing has changed";
  EXPECT_TRUE(Take(table, PerSecondTarget("b", 1), 1, kStart + milliseconds(1000)));
  EXPECT_EQ(DrainUse(table), (std::map<std::string, std::int64_t>{{"a", 1}}));
}

// Fails if: the removals of a request that is refused in the end are stored only with the next
// change.
TEST(BucketTable, AfterARefusedRequestThatMadeSpaceADrainIsDue) {
  BucketTable table({.track_changes = true, .idle_grace = milliseconds(0), .max_buckets = 2});
  ASSERT_TRUE(Take(table, PerSecondTarget("full", 1), 1, kStart));
  ASSERT_TRUE(Take(table, PerMinuteTarget("used"), 60, kStart));
  DrainUse(table);
  const std::vector<Charge> two{{PerSecondTarget("c", 1), {1000}},
                                {PerSecondTarget("d", 1), {1000}}};
  EXPECT_FALSE(table.Acquire(two, kStart + milliseconds(1000)));
  EXPECT_TRUE(table.TakeDrainDue());
  EXPECT_EQ(table.size(), 1U);
}

std::vector<BucketRecord> RecordsIn(const BucketTable& table) {
  return table.List({}, {.cursor = {}, .limit = 1000})->items;
}

std::set<std::string> EntitiesIn(const BucketTable& table) {
  std::set<std::string> entities;
  for (const BucketRecord& record : RecordsIn(table)) entities.insert(record.key.entity);
  return entities;
}

/// Returns the entities that a sweep of the whole table at `now` would leave.
std::set<std::string> LeftByFullSweep(const BucketTable& table, UnixMillis now,
                                      milliseconds grace) {
  BucketTable copy({.stripes = 1, .idle_grace = grace});
  for (const BucketRecord& record : RecordsIn(table)) copy.Load(record);
  copy.SweepIdle(now);
  return EntitiesIn(copy);
}

// C17. Fails if: a sweep for space removes a bucket that is not full or whose grace is not over, or
// never reaches a bucket that is full, whatever happens between its parts.
RC_GTEST_PROP(BucketTableSweep, C17FindsTheSpaceThatASweepOfTheWholeTableFinds, ()) {
  const milliseconds grace(*rc::gen::element(0, 500));
  const std::size_t stripes = *rc::gen::element<std::size_t>(1, 2, 16);
  const std::size_t buckets = *rc::gen::inRange<std::size_t>(1, 60);
  const std::size_t examined = *rc::gen::inRange<std::size_t>(1, 20);
  const bool counts_use = *rc::gen::arbitrary<bool>();
  BucketTable table({.stripes = stripes,
                     .track_changes = counts_use,
                     .idle_grace = grace,
                     .max_buckets = buckets,
                     .max_examined = examined,
                     .count_use = counts_use});
  UnixMillis now = kStart;
  std::size_t names = 0;
  const auto fill = [&] {
    while (table.size() < buckets) {
      const milliseconds full_after(*rc::gen::element(100, 1000, 5000, 100'000));
      table.Load(UsedUp("bucket-" + std::to_string(names++), full_after));
    }
  };
  // Requests one new bucket. Returns whether it was admitted.
  const auto request = [&] {
    const auto before = EntitiesIn(table);
    const auto may_stay = LeftByFullSweep(table, now, grace);
    const std::string name = "new-" + std::to_string(names++);
    const bool admitted = Take(table, PerSecondTarget(name, 1), 1, now);
    const auto after = EntitiesIn(table);
    RC_ASSERT(std::ranges::includes(after, may_stay));
    RC_ASSERT(admitted == after.contains(name));
    RC_ASSERT(table.size() <= buckets);
    if (admitted) RC_ASSERT(before.size() < buckets || may_stay.size() < buckets);
    return admitted;
  };
  const auto steps = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 8));
  for (const int step : steps) {
    fill();
    const auto entities = EntitiesIn(table);
    const auto any =
        std::next(entities.begin(),
                  static_cast<std::ptrdiff_t>(*rc::gen::inRange(std::size_t{0}, entities.size())));
    if (step == 0) table.EraseEntity(*any);
    if (step == 1) now = now + milliseconds(*rc::gen::element(1, 100, 1000));
    if (step == 2) DrainUse(table);
    // Requests on buckets that exist sweep, too.
    for (int i = 0; step == 3 && i < 40; ++i) Take(table, PerSecondTarget(*any, 1), 1, now);
    if (step > 3) request();
  }
  fill();
  const bool has_full = LeftByFullSweep(table, now, grace).size() < buckets;
  // The round in progress, the drain of changed buckets, and a round after the pause.
  const std::size_t most_of_round = buckets / examined + stripes + 2;
  bool admitted = false;
  for (int round = 0; round < 3 && !admitted; ++round) {
    for (std::size_t i = 0; i < most_of_round && !admitted; ++i) admitted = request();
    DrainUse(table);
    if (has_full) now = now + milliseconds(1000);  // the pause
  }
  RC_ASSERT(admitted == has_full);
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
