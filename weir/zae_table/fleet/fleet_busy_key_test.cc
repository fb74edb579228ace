// One key that many processes use: with a demand of twice its rate, and of nine tenths.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "weir/zae_table/testing/fleet_callers_fixture.h"

namespace weir::dynamo {
namespace {

constexpr std::int64_t kBusySeconds = 10;

struct BusyRun {
  std::int64_t admitted = 0;
  double failed_conditions = 0;  // for each admission
  double reads = 0;              // for each admission
};

BusyRun RunBusy(int processes, std::int64_t rate, double demand, std::uint64_t seed) {
  Fleet fleet(seed);
  FleetCallers callers(fleet, std::chrono::seconds(kBusySeconds));
  const TargetPtr target = OneLimit("busy", PerSecond(rate));
  const auto gap = nanoseconds(
      static_cast<std::int64_t>(1e9 * processes / (static_cast<double>(rate) * demand)));
  for (int i = 0; i < processes; ++i) {
    FleetProcess& process = fleet.Join();
    process.network().faults = kUsualTrips;
    callers.AskEvery(process, OneToken(target), gap, gap * i / processes);
  }
  fleet.scheduler().RunAll(100'000'000);
  const auto admitted = static_cast<double>(callers.Sum().admitted);
  return {callers.Sum().admitted,
          static_cast<double>(fleet.server().counts().failed_conditions) / admitted,
          static_cast<double>(Reads(fleet)) / admitted};
}

// At least `percent` of the tokens are admitted on average, and in any run 5 % less.
void ExpectBusy(int processes, std::int64_t rate, double failed_conditions, int percent) {
  constexpr std::uint64_t kBusySeeds = 4;
  std::int64_t admitted = 0;
  for (std::uint64_t seed = 1; seed <= kBusySeeds; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const BusyRun run = RunBusy(processes, rate, 2, seed);
    const std::int64_t due = rate + rate * kBusySeconds;
    testing::Test::RecordProperty(
        fmt::format("run_{}", seed),
        fmt::format("{} of {}, {:.2f} failed conditions and {:.2f} reads for each", run.admitted,
                    due, run.failed_conditions, run.reads));
    EXPECT_GE(run.admitted, due * (percent - 5) / 100);
    EXPECT_LE(run.admitted, due + rate * 16 / 1'000);
    EXPECT_LE(run.failed_conditions, failed_conditions);
    EXPECT_LE(run.reads, 0.1);
    admitted += run.admitted;
  }
  const std::int64_t due = rate + rate * kBusySeconds;
  EXPECT_GE(admitted, static_cast<std::int64_t>(kBusySeeds) * due * percent / 100);
}

TEST(FleetBusyKey, D10EightProcessesAtAHundredASecond) { ExpectBusy(8, 100, 0.4, 97); }
TEST(FleetBusyKey, D10SixteenProcessesAtAHundredASecond) { ExpectBusy(16, 100, 0.7, 97); }
TEST(FleetBusyKey, D10EightProcessesAtAThousandASecond) { ExpectBusy(8, 1'000, 0.4, 97); }
// At this rate the bucket is divided in some runs, and a shard may have tokens left at the end.
TEST(FleetBusyKey, D10SixteenProcessesAtAThousandASecond) { ExpectBusy(16, 1'000, 0.6, 97); }

struct Shares {
  std::int64_t least = INT64_MAX;
  std::int64_t sum = 0;
};

Shares SharesOf(const std::vector<const CallerTally*>& tallies) {
  Shares shares;
  for (const CallerTally* tally : tallies) {
    shares.least = std::min(shares.least, tally->admitted);
    shares.sum += tally->admitted;
  }
  return shares;
}

// Fails if: the process that refilled the bucket last also refills it next.
TEST(FleetBusyKey, AtTwentyTimesTheRateEveryProcessHasAShare) {
  constexpr int kProcesses = 16;
  constexpr std::int64_t kRate = 1'000;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Fleet fleet(seed);
    FleetCallers callers(fleet, std::chrono::seconds(kBusySeconds));
    const nanoseconds gap = nanoseconds(std::chrono::seconds(kProcesses)) / (20 * kRate);
    std::vector<const CallerTally*> tallies;
    for (int i = 0; i < kProcesses; ++i) {
      FleetProcess& process = fleet.Join();
      process.network().faults = kUsualTrips;
      tallies.push_back(&callers.AskEvery(process, OneToken(OneLimit("busy", PerSecond(kRate))),
                                          gap, gap * i / kProcesses));
    }
    fleet.scheduler().RunAll(100'000'000);
    const Shares shares = SharesOf(tallies);
    EXPECT_GE(shares.least, shares.sum / kProcesses / 3);
    EXPECT_GE(shares.sum, kRate * (kBusySeconds + 1) * 94 / 100);
  }
}

// Like the test above, for processes of one caller each, which sends its next request at once.
TEST(FleetBusyKey, CallersThatAskInTurnHaveTheirShares) {
  constexpr int kProcesses = 8;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Fleet fleet(seed);
    FleetCallers callers(fleet, std::chrono::seconds(kBusySeconds));
    std::vector<const CallerTally*> tallies;
    for (int i = 0; i < kProcesses; ++i) {
      FleetProcess& process = fleet.Join();
      process.network().faults = kUsualTrips;
      tallies.push_back(&callers.AskInTurn(process, OneToken(OneLimit("busy", PerSecond(100)))));
    }
    fleet.scheduler().RunAll(100'000'000);
    const Shares shares = SharesOf(tallies);
    EXPECT_GE(shares.least, shares.sum / kProcesses / 2);
  }
}

TEST(FleetBusyKey, D10NineTenthsOfTheRateWasteLittle) {
  for (const std::int64_t rate : {100, 1'000}) {
    SCOPED_TRACE(testing::Message() << rate << " a second");
    const BusyRun run = RunBusy(8, rate, 0.9, 1);
    RecordProperty(fmt::format("run_{}", rate),
                   fmt::format("{:.2f} failed conditions and {:.2f} reads for each",
                               run.failed_conditions, run.reads));
    EXPECT_GE(run.admitted, rate * kBusySeconds * 89 / 100);
    // A bucket that is nearly always full moves rf with each write, and processes that write in
    // turn find another rf than they have seen. At the low rate no two decisions share a write.
    EXPECT_LE(run.failed_conditions + run.reads, rate < 1'000 ? 1.8 : 0.7);
  }
}

}  // namespace
}  // namespace weir::dynamo
