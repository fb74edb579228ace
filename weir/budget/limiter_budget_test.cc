#include "weir/budget/limiter_budget.h"

#include <gtest/gtest.h>

#include <memory>

#include "weir/sim/faulty_backend.h"
#include "weir/sim/sim_scheduler.h"
#include "weir/store/memory_backend.h"

namespace weir {
namespace {

using kinesis::BudgetAsk;
using kinesis::ShardId;
using kinesis::StreamAddress;
using std::chrono::seconds;

const StreamAddress kStream{.name = "orders", .arn = ""};

/// A producer's host: a limiter of its own on the shared store.
struct Host {
  Host(Backend& store, sim::SimScheduler& scheduler, std::uint64_t seed)
      : limiter(store, scheduler, {.seed = seed}), budget(limiter, scheduler.clock(), {}) {}

  /// Asks again and again for as long as it is granted.
  void Demand(ShardId shard, std::size_t records, std::size_t bytes, Instant until) {
    budget.Ask(kStream, {shard, records, bytes, until},
               [this, shard, records, bytes, until](bool yes) {
                 if (!yes) return;
                 granted_records += records;
                 granted_bytes += bytes;
                 Demand(shard, records, bytes, until);
               });
  }

  Limiter limiter;
  LimiterBudget budget;
  std::size_t granted_records = 0;
  std::size_t granted_bytes = 0;
};

class LimiterBudgetTest : public testing::Test {
 protected:
  Instant After(nanoseconds time) { return scheduler_.clock().Now() + time; }

  sim::SimScheduler scheduler_{7};
  std::unique_ptr<Backend> store_ = MakeMemoryBackend({}, &scheduler_.clock());
};

// Fails if the hosts count on buckets of their own.
TEST_F(LimiterBudgetTest, HostsTogetherStayWithinTheShard) {
  Host first(*store_, scheduler_, 1);
  Host second(*store_, scheduler_, 2);
  const Instant until = After(seconds(10));
  first.Demand({0}, 50, 1000, until);
  second.Demand({0}, 50, 1000, until);
  scheduler_.Advance(seconds(11));
  const std::size_t records = first.granted_records + second.granted_records;
  EXPECT_LE(records, 11'000U) << "a burst and ten seconds";
  EXPECT_GE(records, 9'500U);
  EXPECT_GT(first.granted_records, 2'000U);
  EXPECT_GT(second.granted_records, 2'000U);
}

TEST_F(LimiterBudgetTest, BytesAreCountedAsWell) {
  Host host(*store_, scheduler_, 1);
  host.Demand({0}, 1, 256 * 1024, After(seconds(10)));
  scheduler_.Advance(seconds(11));
  EXPECT_LE(host.granted_bytes, 11U << 20);
  EXPECT_GE(host.granted_bytes, 9U << 20);
}

TEST_F(LimiterBudgetTest, ShardsAndStreamsHaveBudgetsOfTheirOwn) {
  Host host(*store_, scheduler_, 1);
  int granted = 0;
  const auto count = [&granted](bool yes) { granted += yes ? 1 : 0; };
  const Instant soon = After(milliseconds(1));
  host.budget.Ask(kStream, {{0}, 700, 1, soon}, count);
  host.budget.Ask(kStream, {{1}, 700, 1, soon}, count);
  host.budget.Ask({.name = "other", .arn = ""}, {{0}, 700, 1, soon}, count);
  const std::string arn = "arn:aws:kinesis:eu-west-1:123456789012:stream/orders";
  host.budget.Ask({.name = "", .arn = arn}, {{0}, 700, 1, soon}, count);
  host.budget.Ask(kStream, {{0}, 700, 1, soon}, count);
  scheduler_.Advance(seconds(1));
  EXPECT_EQ(granted, 4) << "the second for the same shard would have to wait too long";
}

TEST_F(LimiterBudgetTest, WhatIsLargerThanTheBurstIsGrantedWhenTheBucketIsFull) {
  Host host(*store_, scheduler_, 1);
  bool granted = false;
  host.budget.Ask(kStream, {{0}, 1, std::size_t{8} << 20, After(seconds(5))},
                  [&granted](bool yes) { granted = yes; });
  scheduler_.Advance(seconds(5));
  EXPECT_TRUE(granted);
}

TEST_F(LimiterBudgetTest, GrantsWhereTheStoreIsAway) {
  sim::FaultyBackend faulty(*store_, scheduler_, 1);
  faulty.faults.down = true;
  Host host(faulty, scheduler_, 1);
  bool granted = false;
  host.budget.Ask(kStream, {{0}, 1, 1, After(seconds(5))}, [&granted](bool yes) { granted = yes; });
  scheduler_.Advance(seconds(6));
  EXPECT_TRUE(granted);
}

}  // namespace
}  // namespace weir
