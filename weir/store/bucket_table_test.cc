#include "weir/store/bucket_table.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "weir/store/contract_caller.h"
#include "weir/store/recent_tokens.h"

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

/// What a drain told: tokens left by entity, or -1 for a removal.
std::map<std::string, std::int64_t> Drain(BucketTable& table) {
  std::map<std::string, std::int64_t> told;
  table.DrainChanges([&](const Target& target, const Bucket* bucket, std::uint32_t&) {
    told[target.key.entity] = bucket == nullptr ? -1 : bucket->meters[0].tokens / kMillitokens;
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
  // Full again after one second; the grace counts from there.
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

// One request each from very many entities must not fill the memory.
TEST(BucketTable, StaysBoundedUnderEverNewKeys) {
  BucketTable table({.stripes = 4, .idle_grace = milliseconds(1000)});
  constexpr int kKeys = 50'000;
  std::size_t most = 0;
  for (int i = 0; i < kKeys; ++i) {
    const UnixMillis now = kStart + milliseconds(i);
    EXPECT_TRUE(Take(table, PerSecondTarget("user-" + std::to_string(i), 1), 1, now));
    if (i % 1000 == 0) most = std::max(most, table.size());
  }
  // Two seconds' worth of keys are not idle yet; the sweep may lag behind by some more.
  EXPECT_LT(most, 10'000U);
}

// The same, with no new keys: what idles leaves while other buckets are used.
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
  // Meanwhile tpm moved to the front and grew, and rpm went away.
  const TargetPtr now = MakeTarget({"acme", "gpt-4", 0}, {{"tpm", PerSecond(100)}});
  const std::vector<Charge> nothing{{now, {0}}};
  ASSERT_TRUE(table.Acquire(nothing, kStart)->admitted);

  const std::vector<Charge> correction{{old, {1000, 5000}}};
  ASSERT_TRUE(table.Adjust(correction, {1, 1}, kStart).has_value());
  const std::optional<BucketRecord> record = table.Read({"acme", "gpt-4", 0});
  ASSERT_TRUE(record.has_value());
  EXPECT_EQ(record->names, std::vector<std::string>{"tpm"});
  EXPECT_EQ(record->bucket.meters[0].quota, PerSecond(100));
  EXPECT_EQ(record->bucket.meters[0].tokens, 75'000);
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

TEST(RecentTokens, ATokenThatCameAgainIsNotForgottenAtItsOldPlace) {
  RecentTokens tokens;
  const auto nth = [](std::uint64_t n) { return AdjustToken{n, 0}; };
  EXPECT_TRUE(tokens.Insert(nth(0)));
  tokens.Forget(nth(0));
  EXPECT_TRUE(tokens.Insert(nth(0)));
  for (std::uint64_t n = 1; n < RecentTokens::kTokensPerPart; ++n) {
    EXPECT_TRUE(tokens.Insert(nth(n)));
  }
  EXPECT_FALSE(tokens.Insert(nth(0)));
  EXPECT_TRUE(tokens.Insert(nth(RecentTokens::kTokensPerPart)));
  EXPECT_TRUE(tokens.Insert(nth(0)));
}

}  // namespace
}  // namespace weir
