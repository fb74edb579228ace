// A table that serves fewer writes than its callers ask for.
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "weir/zae_table/testing/fleet_callers_fixture.h"

namespace weir::dynamo {
namespace {

using std::chrono::seconds;

struct Load {
  std::int64_t admitted = 0;
  std::int64_t failed = 0;
  nanoseconds longest{0};
};

/// One process, and callers that each take a token of a random bucket.
class SlowTable {
 public:
  /// The table serves 1 / `service_time` requests a second. Trips there and back take 4 ms to twice
  /// `longest_trip`.
  SlowTable(nanoseconds service_time, std::size_t buckets,
            nanoseconds longest_trip = milliseconds(3))
      : fleet_(7), process_(fleet_.Join()), rng_(11) {
    for (std::size_t i = 0; i < buckets; ++i) {
      targets_.push_back(
          OneLimit(fmt::format("tenant-{}", i), PerSecond(100'000).Burst(1'000'000)));
    }
    process_.network().faults = {.shortest_trip = milliseconds(2),
                                 .longest_trip = longest_trip,
                                 .service_time = service_time};
  }

  /// Each of the callers sends its next request when it has a result.
  Load AskInTurn(int callers, nanoseconds run) {
    Load load;
    const Instant end = now() + run;
    for (int i = 0; i < callers; ++i) AskAgain(load, end);
    fleet_.scheduler().RunAll(100'000'000);
    return load;
  }

  /// Sends `rate` requests a second, also while earlier ones are pending.
  Load AskAtRate(double rate, nanoseconds patience, nanoseconds run) {
    Load load;
    const Instant begin = now();
    const auto requests = static_cast<int>(rate * std::chrono::duration<double>(run).count());
    for (int i = 0; i < requests; ++i) {
      const auto at = nanoseconds(static_cast<std::int64_t>(1e9 / rate * i));
      fleet_.scheduler().At(begin + at, [this, &load, patience] { Ask(load, patience, [] {}); });
    }
    fleet_.scheduler().RunAll(100'000'000);
    return load;
  }

  /// Begins `rate` corrections a second, of one token each, when the scheduler runs.
  void AdjustAtRate(int rate, nanoseconds patience, nanoseconds run) {
    const nanoseconds gap = nanoseconds(seconds(1)) / rate;
    for (nanoseconds at{0}; at < run; at += gap) {
      fleet_.scheduler().At(now() + at, [this, patience] { Adjust(patience); });
    }
  }

  std::int64_t StoredTokens() const { return StoredTakes(fleet_, "rps") / kMillitokens; }
  std::int64_t admitted() const { return admitted_; }
  /// The corrections that succeeded, and those whose deadlines passed: these are still written.
  std::int64_t adjusted() const { return adjusted_; }

 private:
  Instant now() const { return fleet_.scheduler().clock().Now(); }

  template <class Then>
  void Ask(Load& load, nanoseconds patience, Then then) {
    const Instant asked = now();
    const std::vector<Charge> charges{{DrawTarget(), {kMillitokens}}};
    process_.buckets().Acquire(charges, process_.now(), Deadline::At(asked + patience),
                               [this, &load, asked, then](const Result<Decision>& decision) {
                                 const bool is_admitted = decision && decision->admitted;
                                 ++(is_admitted ? load.admitted : load.failed);
                                 admitted_ += is_admitted ? 1 : 0;
                                 load.longest = std::max(load.longest, now() - asked);
                                 then();
                               });
  }

  void Adjust(nanoseconds patience) {
    const std::vector<Charge> charges{{DrawTarget(), {kMillitokens}}};
    process_.buckets().Adjust(charges, AdjustId{rng_.Next(), rng_.Next()}, process_.now(),
                              Deadline::At(now() + patience), [this](const Status& status) {
                                const bool is_late =
                                    !status && status.error().code == Code::kDeadlineExceeded;
                                adjusted_ += status || is_late ? 1 : 0;
                              });
  }

  const TargetPtr& DrawTarget() { return targets_[rng_.Next() % targets_.size()]; }

  void AskAgain(Load& load, Instant end) {
    if (now() >= end) return;
    Ask(load, seconds(5), [this, &load, end] {
      fleet_.scheduler().At(now() + std::chrono::microseconds(10),
                            [this, &load, end] { AskAgain(load, end); });
    });
  }

  Fleet fleet_;
  FleetProcess& process_;
  Rng rng_;
  std::vector<TargetPtr> targets_;
  std::int64_t admitted_ = 0;
  std::int64_t adjusted_ = 0;
};

struct Overload {
  double capacity = 0;
  Load load;
  Load afterwards;
};

constexpr nanoseconds kPatience = milliseconds(100);
constexpr int kRunSeconds = 6;

Overload RunOverload(SlowTable& table, int callers, double writes) {
  table.AskInTurn(callers, seconds(1));  // the buckets exist
  constexpr nanoseconds kRun = seconds(kRunSeconds);
  const Load closed = table.AskInTurn(callers, kRun);
  Overload run{.capacity = static_cast<double>(closed.admitted) / kRunSeconds};
  run.load = table.AskAtRate(4 * run.capacity, kPatience, kRun);
  table.AskAtRate(writes / 2, kPatience, seconds(1));
  run.afterwards = table.AskAtRate(writes / 2, kPatience, seconds(1));
  testing::Test::RecordProperty(
      "decisions", fmt::format("{} of {} a second", run.load.admitted / kRunSeconds, run.capacity));
  return run;
}

void ExpectServed(const Overload& run) {
  EXPECT_GE(static_cast<double>(run.load.admitted), 0.9 * kRunSeconds * run.capacity);
  EXPECT_GT(run.load.failed, 0) << "the load is more than the table can bear";
  EXPECT_LE(run.load.longest, kPatience + milliseconds(1));
  EXPECT_EQ(run.afterwards.failed, 0);
  EXPECT_LE(run.afterwards.longest, milliseconds(50));
}

// 1,500 writes a second, of which 64 take 43 ms.
TEST(FleetSlowTable, FourTimesTheCapacityIsServedAtTheCapacity) {
  SlowTable table(std::chrono::microseconds(667), 1'000);
  const Overload run = RunOverload(table, 1'024, 1'500);
  ExpectServed(run);
  EXPECT_EQ(table.StoredTokens(), table.admitted());
}

// Fails if: buckets are next for callers who have too little time left for a write.
TEST(FleetSlowTable, WritesServeCallersWhoHaveTimeLeft) {
  // 64 writes take 64 ms, and trips 4 to 40 ms more.
  SlowTable table(milliseconds(1), 1'000, milliseconds(20));
  table.AskInTurn(1'000, seconds(1));
  const Load load = table.AskAtRate(12'000, kPatience, seconds(kRunSeconds));
  testing::Test::RecordProperty("decisions", fmt::format("{}", load.admitted / kRunSeconds));
  EXPECT_GE(load.admitted, kRunSeconds * 1'450) << "1,000 writes a second";
  EXPECT_LE(load.longest, kPatience + milliseconds(1));
  EXPECT_EQ(table.StoredTokens(), table.admitted());
}

// A correction that is not written within ten seconds is lost.
TEST(FleetSlowTable, CorrectionsAreWrittenWhileTheTableIsOverloaded) {
  SlowTable table(std::chrono::microseconds(667), 1'000);
  table.AskInTurn(1'000, seconds(1));
  table.AdjustAtRate(100, kPatience, seconds(12));
  const Load load = table.AskAtRate(8'000, kPatience, seconds(12));
  EXPECT_GT(load.failed, 0);
  EXPECT_EQ(table.adjusted(), 1'200);
  EXPECT_EQ(table.StoredTokens(), table.admitted() + table.adjusted());
}

// If a request that fails admitted the next one within itself, thousands of them would overflow the
// stack.
TEST(FleetSlowTable, RequestsThatFailAtOnceDoNotNest) {
  constexpr int kBuckets = 5'000;
  Fleet fleet(12);
  FleetProcess& process = fleet.Join();
  process.network().faults.service_time = std::chrono::microseconds(100);
  int admitted = 0;
  int failed = 0;
  const auto ask_all = [&] {
    for (int i = 0; i < kBuckets; ++i) {
      const std::vector<Charge> charges =
          OneToken(OneLimit(fmt::format("tenant-{}", i), PerSecond(100))).charges;
      process.buckets().Acquire(
          charges, process.now(), Deadline::After(fleet.scheduler().clock(), seconds(2)),
          [&](const Result<Decision>& decision) { ++(decision ? admitted : failed); });
    }
  };
  ask_all();
  fleet.scheduler().RunAll(100'000'000);
  EXPECT_EQ(admitted, kBuckets);
  ask_all();
  process.FailAtOnce();
  fleet.scheduler().RunAll(100'000'000);
  EXPECT_EQ(admitted + failed, 2 * kBuckets);
  EXPECT_GT(failed, kBuckets / 2);
  EXPECT_EQ(StoredTakes(fleet, "rps"), admitted * kMillitokens);
}

// Each of these callers has a bucket of its own.
TEST(FleetSlowTable, CallersWithTimeAreServedInTurn) {
  Fleet fleet(9);
  FleetProcess& process = fleet.Join();
  process.network().faults = {.shortest_trip = milliseconds(2),
                              .longest_trip = milliseconds(3),
                              .service_time = std::chrono::microseconds(667)};
  FleetCallers callers(fleet, seconds(5));
  std::vector<const CallerTally*> tallies;
  for (int i = 0; i < 300; ++i) {
    const TargetPtr target =
        OneLimit(fmt::format("tenant-{}", i), PerSecond(100'000).Burst(1'000'000));
    tallies.push_back(&callers.AskInTurn(process, OneToken(target)));
  }
  fleet.scheduler().RunAll(100'000'000);
  EXPECT_EQ(callers.Sum().failed, 0);
  const auto [least, most] =
      std::ranges::minmax(tallies, {}, [](const CallerTally* tally) { return tally->admitted; });
  EXPECT_GE(2 * least->admitted, most->admitted);
  EXPECT_GE(least->admitted, 15) << "300 writes take 200 ms";
}

}  // namespace
}  // namespace weir::dynamo
