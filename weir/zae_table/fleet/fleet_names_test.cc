// Whole runs of a fleet whose sets of limits change: for each name, on every pair of instants, no
// more is taken than its greatest capacity and its greatest rate allow.
//
// Verified to fail if a limit that leaves is dropped and joins full, and if a limit that is removed
// early is forgotten.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/zae_table/actor/batch_choice.h"
#include "weir/zae_table/bucket/bucket_plan.h"
#include "weir/zae_table/testing/fleet_names_fixture.h"
#include "weir/zae_table/testing/fleet_oracle_fixture.h"
#include "weir/zae_table/testing/fleet_ttl_fixture.h"

namespace weir::dynamo {
namespace {

using ::testing::IsEmpty;

constexpr nanoseconds kNamesRun = std::chrono::seconds(6);
constexpr milliseconds kNamesTrip{30};
constexpr milliseconds kNamesLate = kDatedAgainAfter + 2 * kNamesTrip;
constexpr int kNamesProcesses = 4;
// Returns to a limit that has left are dropped.
constexpr LedgerTerms kNamesTerms{.drops_returns = true};
constexpr LedgerTerms kNamesWithFaults{.charges = 10,
                                       .plain_charges = 3,
                                       .refused_charges = 3,
                                       .drops_returns = true,
                                       .late = milliseconds(250)};

void JoinNames(Fleet& fleet, const sim::NetworkFaults& faults) {
  for (int i = 0; i < kNamesProcesses; ++i) fleet.Join().network().faults = faults;
}

Instant EndOfNames(const Fleet& fleet) { return fleet.scheduler().clock().Now() + kNamesRun; }

TEST(FleetNames, C2LimitsThatComeAndGoMintNothing) {
  NamesTally sum;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    Fleet fleet(seed);
    JoinNames(fleet, {});
    const NamesTerms terms;
    FleetLedger ledger(fleet.scheduler().clock());
    FleetNames names(fleet, ledger, terms, seed, EndOfNames(fleet));
    EXPECT_TRUE(fleet.scheduler().RunAll());
    const NamesTally& tally = names.tally();
    EXPECT_EQ(tally.completed, tally.asked);
    EXPECT_EQ(tally.failed, 0) << "seed " << seed << ": " << tally.failure;
    EXPECT_EQ(TakenInTable(fleet), tally.taken) << "seed " << seed;
    const auto broken = OverAdmissions(fleet.ReadMovements(), GreatestQuotas(terms), {});
    EXPECT_THAT(broken, IsEmpty()) << "seed " << seed;
    EXPECT_THAT(EarlyTtls(fleet, milliseconds(0)), IsEmpty()) << "seed " << seed;
    EXPECT_THAT(CompareWithTable(ledger, fleet, kNamesTerms).broken, IsEmpty()) << "seed " << seed;
    sum += tally;
  }
  EXPECT_GT(sum.overrides, 0);
  EXPECT_GT(sum.departed, 0);
  EXPECT_GT(sum.stale, 0);
  EXPECT_GT(sum.refused, 0);
}

// If each name has one set of parameters, w_gone is exact.
TEST(FleetNames, C2MoreThanTwentyNamesMintNothing) {
  std::size_t removed = 0;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    Fleet fleet(seed);
    JoinNames(fleet, {});
    const NamesTerms terms{.names = 45, .variants = false, .buckets = 1};
    FleetLedger ledger(fleet.scheduler().clock());
    FleetNames names(fleet, ledger, terms, seed, EndOfNames(fleet));
    EXPECT_TRUE(fleet.scheduler().RunAll());
    EXPECT_EQ(names.tally().failed, 0) << "seed " << seed << ": " << names.tally().failure;
    const auto broken = OverAdmissions(fleet.ReadMovements(), GreatestQuotas(terms), {});
    EXPECT_THAT(broken, IsEmpty()) << "seed " << seed;
    EXPECT_THAT(EarlyTtls(fleet, milliseconds(0)), IsEmpty()) << "seed " << seed;
    EXPECT_THAT(CompareWithTable(ledger, fleet, kNamesTerms).broken, IsEmpty()) << "seed " << seed;
    for (const sim::StreamRecord& record : fleet.table().stream()) {
      if (!record.after) continue;
      removed += record.after->contains(std::string(kGone)) ? 1U : 0U;
      const auto meters = std::ranges::count_if(*record.after, [](const auto& attribute) {
        return attribute.first.starts_with("b_") && attribute.first.ends_with("_tk") &&
               attribute.first != "b_wcu_tk";
      });
      ASSERT_LE(meters, static_cast<std::ptrdiff_t>(kMaxMeters)) << "seed " << seed;
    }
  }
  EXPECT_GT(removed, 0U);
}

TEST(FleetNames, C2LimitsThatComeAndGoMintNothingWhateverIsLost) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    Fleet fleet(seed, seed % 2 == 0 ? 20'000 : kWriteCapacity);
    JoinNames(fleet, {.lose_request = 0.02,
                      .lose_response = 0.02,
                      .duplicate = 0.02,
                      .fail_after = 0.02,
                      .throttle = 0.02,
                      .longest_trip = kNamesTrip});
    fleet.server().faults = {.throttle = 0.02, .conflict = 0.02, .unprocessed = 0.05};
    const NamesTerms terms{.names = 14};
    FleetLedger ledger(fleet.scheduler().clock());
    FleetNames names(fleet, ledger, terms, seed, EndOfNames(fleet));
    EXPECT_TRUE(fleet.scheduler().RunAll());
    EXPECT_EQ(names.tally().completed, names.tally().asked);
    const auto broken = OverAdmissions(fleet.ReadMovements(), GreatestQuotas(terms), kNamesLate);
    EXPECT_THAT(broken, IsEmpty()) << "seed " << seed;
    EXPECT_THAT(EarlyTtls(fleet, kNamesLate), IsEmpty()) << "seed " << seed;
    EXPECT_THAT(CompareWithTable(ledger, fleet, kNamesWithFaults).broken, IsEmpty())
        << "seed " << seed;
  }
}

}  // namespace
}  // namespace weir::dynamo
