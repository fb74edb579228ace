// Whole runs of a fleet whose adjusts go deep into debt, all processes at once: no item may expire
// before its debt is repaid.
//
// Verified to fail if an adjust does not require the balance that its ttl covers, and if a refill
// sets a ttl by limits that it does not require.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/zae_table/actor/batch_choice.h"
#include "weir/zae_table/actor/bucket_call.h"
#include "weir/zae_table/testing/fleet_ttl_fixture.h"

namespace weir::dynamo {
namespace {

using ::testing::IsEmpty;

constexpr int kDebtors = 24;
constexpr int kDebtRounds = 6;
constexpr milliseconds kDebtTrip{30};
// From the time that dates a write to the time at which it is applied.
constexpr milliseconds kDebtLate = kDatedAgainAfter + 2 * kDebtTrip;
constexpr milliseconds kDebtPatience{3'000};

const std::vector<Limit>& DebtLimits() {
  static const std::vector<Limit> limits{{"tps", PerSecond(100)}, {"ops", PerSecond(50).Burst(9)}};
  return limits;
}

/// Every process takes or adjusts at the same times, so that none sees the writes of the others.
class FleetDebts {
 public:
  FleetDebts(Fleet& fleet, std::uint64_t seed) : fleet_(fleet), rng_(seed) {
    for (int round = 0; round < kDebtRounds; ++round) {
      fleet_.scheduler().At(fleet_.scheduler().clock().Now() + milliseconds(300 * round), [this] {
        for (const auto& process : fleet_.processes()) Act(*process);
      });
    }
    ended_ = fleet_.scheduler().RunAll();
  }
  bool ended() const { return ended_; }
  int failed() const { return failed_; }
  int adjusted() const { return adjusted_; }

 private:
  Deadline Soon() const { return Deadline::After(fleet_.scheduler().clock(), kDebtPatience); }

  void Act(FleetProcess& process) {
    if (rng_.Chance(0.3)) {
      const Charge take{target_, {0, 1'000 * rng_.Between(1, 4)}};
      return process.buckets().Acquire({&take, 1}, process.now(), Soon(),
                                       [](const Result<Decision>&) {});
    }
    const bool returns = rng_.Chance(0.2);
    const Charge adjust{target_, {(returns ? -1 : 1) * rng_.Between(1'000, 95'000), 0}};
    process.buckets().Adjust({&adjust, 1}, AdjustId{rng_.Next(), rng_.Next()}, process.now(),
                             Soon(),
                             [this](const Status& status) { ++(status ? adjusted_ : failed_); });
  }

  Fleet& fleet_;
  Rng rng_;
  const TargetPtr target_ = MakeTarget({"acme", "llm", 0}, DebtLimits());
  int failed_ = 0;
  int adjusted_ = 0;
  bool ended_ = false;
};

TEST(FleetDebt, D1NoItemMayGoBeforeTheDebtOfAllIsRepaid) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    Fleet fleet(seed);
    for (int i = 0; i < kDebtors; ++i) fleet.Join().network().faults.longest_trip = kDebtTrip;
    const FleetDebts debts(fleet, seed);
    EXPECT_TRUE(debts.ended());
    EXPECT_EQ(debts.failed(), 0) << "seed " << seed;
    EXPECT_GT(debts.adjusted(), 0);
    EXPECT_THAT(EarlyTtls(fleet, kDebtLate), IsEmpty()) << "seed " << seed;
  }
}

// Fails if: a division gives a shard half of the rate, and the ttl of the whole bucket.
TEST(FleetDebt, D3NoShardMayGoBeforeItsDebtIsRepaid) {
  std::size_t divisions = 0;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    Fleet fleet(seed, 5'000);
    for (int i = 0; i < kDebtors; ++i) fleet.Join().network().faults.longest_trip = kDebtTrip;
    const FleetDebts debts(fleet, seed);
    EXPECT_TRUE(debts.ended());
    EXPECT_THAT(EarlyTtls(fleet, kDebtLate), IsEmpty()) << "seed " << seed;
    divisions += fleet.ReadDivisions().size();
  }
  EXPECT_GT(divisions, 0U);
}

}  // namespace
}  // namespace weir::dynamo
