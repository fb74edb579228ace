// Whole runs of processes of Weir and of zae-limiter on the same buckets: no limit admits more than
// both promise together, and the tokens of every caller agree with the table.
#include "weir/zae_table/actor/batch_choice.h"
#include "weir/zae_table/testing/fleet_peers_fixture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/zae_table/testing/fleet_oracle_fixture.h"
#include "weir/zae_table/testing/fleet_ttl_fixture.h"

namespace weir::dynamo {
namespace {

using ::testing::IsEmpty;

constexpr nanoseconds kMixedRun = std::chrono::seconds(3);
constexpr milliseconds kMixedTrip{30};
constexpr milliseconds kMixedLate = kDatedAgainAfter + 2 * kMixedTrip;

// Clients of zae-limiter remove limits, and a call that loses to them gives back its tokens.
constexpr LedgerTerms kMixedTerms{.drops_returns = true, .late = milliseconds(250)};

void JoinMixed(Fleet& fleet, const sim::NetworkFaults& faults) {
  for (int i = 0; i < 3; ++i) fleet.Join().network().faults = faults;
}

TEST(FleetPeers, AdmitNoMoreThanBothPromiseWhereNothingIsLost) {
  PeerCounts sum;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    Fleet fleet(seed, 10'000);
    const sim::NetworkFaults faults{.longest_trip = kMixedTrip};
    JoinMixed(fleet, faults);
    FleetWorkload workload(fleet, seed, kMixedRun);
    FleetPeers peers(fleet, workload.ledger(), seed,
                     {.clients = 2,
                      .sync = milliseconds(400),
                      .aggregator = milliseconds(250),
                      .network = faults},
                     workload.end());
    EXPECT_TRUE(workload.Run());
    EXPECT_EQ(workload.tally().completed, workload.tally().asked);
    EXPECT_EQ(workload.tally().failed, 0) << "seed " << seed << ": " << workload.tally().failure;
    EXPECT_THAT(CompareWithTable(workload.ledger(), fleet, kMixedTerms).broken, IsEmpty())
        << "seed " << seed;
    EXPECT_THAT(OverAdmissions(fleet.ReadMovements(), QuotasWithPeers(), kMixedLate), IsEmpty())
        << "seed " << seed;
    EXPECT_THAT(Minted(fleet.ReadDivisions()), IsEmpty()) << "seed " << seed;
    EXPECT_THAT(EarlyTtls(fleet, kMixedLate), IsEmpty()) << "seed " << seed;
    sum += peers.counts();
  }
  EXPECT_GT(sum.calls.admitted, 0);
  EXPECT_GT(sum.calls.slow, 0);
  EXPECT_GT(sum.calls.seeds, 0);
  EXPECT_GT(sum.calls.unproven, 0);
  EXPECT_GT(sum.aggregator.refills, 0);
  EXPECT_GT(sum.calls.bumps + sum.aggregator.bumps, 0);
}

}  // namespace
}  // namespace weir::dynamo
