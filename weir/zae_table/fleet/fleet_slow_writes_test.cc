// Callers that share writes in one process: one of them with little time, and one write that
// stalls.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "weir/zae_table/testing/fleet_callers_fixture.h"
#include "weir/zae_table/testing/fleet_oracle_fixture.h"

namespace weir::dynamo {
namespace {

using std::chrono::seconds;

constexpr int kSharers = 32;
constexpr nanoseconds kSharedRun = seconds(10);

struct SharedRun {
  std::uint64_t requests = 0;
  CallerTally hasty;
  CallerTally all;
  std::int64_t stored = 0;      // tokens
  std::int64_t ever_taken = 0;  // tokens, without returns
};

// Returns the sum of the writes' takes. Takes and returns of the same write are netted.
std::int64_t EverTaken(const Fleet& fleet) {
  std::int64_t taken = 0;
  for (const auto& [name, movements] : fleet.ReadMovements()) {
    for (const Movement& movement : movements)
      taken += std::max<std::int64_t>(movement.consumed, 0);
  }
  return taken / kMillitokens;
}

SharedRun RunShared(nanoseconds patience_of_first) {
  Fleet fleet(4);
  FleetProcess& process = fleet.Join();
  process.network().faults = kUsualTrips;
  const TargetPtr target = OneLimit("acme", PerSecond(10'000).Burst(1'000'000));
  FleetCallers callers(fleet, kSharedRun);
  const CallerTally& first = callers.AskInTurn(process, OneToken(target, patience_of_first));
  for (int i = 1; i < kSharers; ++i) callers.AskInTurn(process, OneToken(target));
  fleet.scheduler().RunAll(100'000'000);
  return {fleet.server().counts().AllRequests(), first, callers.Sum(),
          StoredTakes(fleet, "rps") / kMillitokens, EverTaken(fleet)};
}

TEST(FleetSlowWrites, D3ACallerWithTwelveMillisecondsCostsTheOthersNothing) {
  const SharedRun calm = RunShared(seconds(1));
  const SharedRun hasty = RunShared(milliseconds(12));
  RecordProperty("requests", fmt::format("{} and {}", calm.requests, hasty.requests));
  EXPECT_LE(static_cast<double>(hasty.requests), 1.1 * static_cast<double>(calm.requests));
  EXPECT_EQ(calm.stored, calm.all.admitted);
  EXPECT_EQ(hasty.stored, hasty.all.admitted) << "net of returns";
  EXPECT_LE(static_cast<double>(hasty.ever_taken - hasty.all.admitted),
            0.04 * static_cast<double>(hasty.all.admitted));
  EXPECT_LE(hasty.hasty.longest, milliseconds(13));
  EXPECT_GT(hasty.hasty.asked, 0);
}

/// Makes one of the process's next requests take half a second each way.
class Staller {
 public:
  Staller(Fleet& fleet, FleetProcess& process) : fleet_(fleet), process_(process) {}

  void Stall() {
    began_.push_back(fleet_.scheduler().clock().Now());
    sim::SimTransport& network = process_.network();
    network.faults.shortest_trip = network.faults.longest_trip = milliseconds(500);
    const std::uint64_t sent = network.counts().requests;
    while (network.counts().requests == sent && fleet_.scheduler().RunNext()) {
    }
    network.faults = kUsualTrips;
  }
  bool Covers(Instant asked) const {
    return std::ranges::any_of(began_, [&](Instant began) {
      return asked >= began - milliseconds(16) && asked < began + seconds(1);
    });
  }

 private:
  Fleet& fleet_;
  FleetProcess& process_;
  std::vector<Instant> began_;
};

// Round trips take 16 ms at most.
TEST(FleetSlowWrites, AWriteThatStallsForASecondDelaysTheOthersByATenth) {
  Fleet fleet(5);
  FleetProcess& process = fleet.Join();
  process.network().faults = kUsualTrips;
  const TargetPtr target = OneLimit("acme", PerSecond(10'000).Burst(1'000'000));
  FleetCallers callers(fleet, seconds(20));
  for (int i = 0; i < kSharers; ++i) callers.AskInTurn(process, OneToken(target, seconds(3)));
  Staller staller(fleet, process);
  for (int i = 0; i < 9; ++i) {
    fleet.scheduler().Advance(seconds(2));
    staller.Stall();
  }
  fleet.scheduler().RunAll(100'000'000);
  std::vector<nanoseconds> waits;
  for (const auto& [asked, wait] : callers.Sum().waits) {
    if (staller.Covers(asked)) waits.push_back(wait);
  }
  ASSERT_GE(waits.size(), 9U * kSharers);
  std::ranges::sort(waits);
  EXPECT_LE(waits[waits.size() * 99 / 100], milliseconds(100 + 2 * 16));
  EXPECT_LE(waits.back(), milliseconds(100 + 3 * 16)) << "those that the stalled write carried";
  EXPECT_EQ(callers.Sum().failed, 0);
  EXPECT_EQ(StoredTakes(fleet, "rps"), callers.Sum().admitted * kMillitokens);
}

}  // namespace
}  // namespace weir::dynamo
