// Leases that are corrected all the time: the size of the items that adjusts leave, and that each
// adjust counts once.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>

#include "weir/zae_table/testing/fleet_callers_fixture.h"

namespace weir::dynamo {
namespace {

using std::chrono::seconds;

constexpr int kAdjusters = 16;
constexpr std::size_t kOneUnit = 1'024;
// The bucket is never full and never empty during a run.
constexpr Quota kWide{1'000'000'000, 1'000, 3'600'000};

/// Sends adjusts from all processes in turn, until `run` is over or an item is larger than
/// `largest`.
class AdjustLoad {
 public:
  using Draw = std::function<std::vector<Charge>(std::int64_t nth, std::int64_t delta)>;

  AdjustLoad(Fleet& fleet, Draw draw, int per_second, nanoseconds run, std::size_t largest)
      : fleet_(fleet),
        draw_(std::move(draw)),
        gap_(nanoseconds(seconds(1)) / per_second),
        end_(fleet.scheduler().clock().Now() + run),
        largest_(largest) {
    for (int i = 0; i < kAdjusters; ++i) fleet.Join().network().faults = kUsualTrips;
    Adjust();
    fleet.scheduler().RunAll(100'000'000);
  }
  std::size_t size() const { return size_; }
  std::int64_t failed() const { return failed_; }
  /// The sum of the adjusts that succeeded, for each limit of each charge, in millitokens.
  std::int64_t counted() const { return counted_; }

 private:
  void Adjust() {
    auto& scheduler = fleet_.scheduler();
    size_ = std::max(size_, LargestBucketItem(fleet_));
    if (scheduler.clock().Now() >= end_ || size_ > largest_) return;
    FleetProcess& process = *fleet_.processes()[static_cast<std::size_t>(nth_ % kAdjusters)];
    const std::int64_t delta = nth_ % 3 == 2 ? -1'500 : 1'000;
    const std::vector<Charge> charges = draw_(nth_, delta);
    ++nth_;
    process.buckets().Adjust(charges, AdjustId{rng_.Next(), rng_.Next()}, process.now(),
                             Deadline::After(scheduler.clock(), seconds(3)),
                             [this, delta](const Status& status) {
                               ++(status ? completed_ : failed_);
                               counted_ += status ? delta : 0;
                             });
    scheduler.At(scheduler.clock().Now() + gap_, [this] { Adjust(); });
  }

  Fleet& fleet_;
  Draw draw_;
  nanoseconds gap_;
  Instant end_;
  std::size_t largest_;
  Rng rng_{5};
  std::int64_t nth_ = 0;
  std::size_t size_ = 0;
  std::int64_t completed_ = 0;
  std::int64_t failed_ = 0;
  std::int64_t counted_ = 0;
};

TargetPtr Leased(const std::string& entity, int limits) {
  std::vector<Limit> all;
  for (int i = 0; i < limits; ++i) all.push_back({fmt::format("limit-{:02}", i), kWide});
  return MakeTarget({entity, "llm", 0}, std::move(all));
}

Charge Each(const TargetPtr& target, std::int64_t delta) {
  return {target, std::vector<std::int64_t>(target->limits.size(), delta)};
}

void ExpectTwoUnitsAWrite(const Fleet& fleet) {
  const sim::DynamoCounts& counts = fleet.server().counts();
  const auto writes = static_cast<double>(counts.Requests("UpdateItem"));
  EXPECT_LE(counts.write_units, 2 * writes + 200);
}

void ExpectSmall(int limits, int per_second, nanoseconds run, std::size_t largest) {
  Fleet fleet(1);
  const TargetPtr target = Leased("acme", limits);
  const AdjustLoad load(
      fleet, [&](std::int64_t, std::int64_t delta) { return std::vector{Each(target, delta)}; },
      per_second, run, largest);
  EXPECT_LE(load.size(), largest);
  EXPECT_EQ(load.failed(), 0);
  EXPECT_EQ(StoredTakes(fleet, "limit-00"), load.counted());
  if (largest == kOneUnit) ExpectTwoUnitsAWrite(fleet);
}

TEST(FleetAdjustLoad, D1TenAdjustsASecondForTenMinutesLeaveAnItemOfOneUnit) {
  ExpectSmall(2, 10, seconds(600), kOneUnit);
}

TEST(FleetAdjustLoad, D1AHundredAdjustsASecondLeaveAnItemOfOneUnit) {
  ExpectSmall(2, 100, seconds(60), kOneUnit);
}

TEST(FleetAdjustLoad, D1TwentyLimitsLeaveAnItemOfThreeUnits) {
  ExpectSmall(20, 10, seconds(120), 3 * kOneUnit);
}

TEST(FleetAdjustLoad, D1AParentOfAHundredChildrenStaysAnItemOfOneUnit) {
  Fleet fleet(1);
  const TargetPtr parent = Leased("team", 2);
  std::vector<TargetPtr> children;
  for (int i = 0; i < 100; ++i) children.push_back(Leased(fmt::format("user-{}", i), 2));
  const AdjustLoad load(
      fleet,
      [&](std::int64_t nth, std::int64_t delta) {
        return std::vector{Each(children[static_cast<std::size_t>(nth % 100)], delta),
                           Each(parent, delta)};
      },
      10, seconds(300), kOneUnit);
  EXPECT_LE(load.size(), kOneUnit);
  EXPECT_EQ(load.failed(), 0);
  EXPECT_EQ(StoredTakes(fleet, "limit-00"), 2 * load.counted());
}

}  // namespace
}  // namespace weir::dynamo
