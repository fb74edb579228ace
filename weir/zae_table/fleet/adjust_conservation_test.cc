// Random adjusts, repeated while they are pending and afterwards, among random takes over a bad
// network: the id of each adjust counts once for each bucket.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>

#include "weir/zae_table/sharding/shard_route.h"
#include "weir/zae_table/testing/conservation_fixture.h"

namespace weir::dynamo {
namespace {

constexpr std::uint64_t kAdjustSeeds = 24;
constexpr int kTakesOfARun = 40;
constexpr int kAdjustsOfARun = 40;

/// One adjust, and the results of all its repetitions.
struct RepeatedAdjust {
  std::vector<Charge> charges;
  AdjustId token;
  DynamoBucketStore* store = nullptr;  // null: a shared id, each time in any process
  int counted = 0;
  int failed = 0;
};

class RepeatedAdjusts {
 public:
  explicit RepeatedAdjusts(ConservedFleet& fleet) : fleet_(fleet) {}

  void Begin() {
    RepeatedAdjust& adjust = adjusts_.emplace_back();
    adjust.charges = fleet_.DrawCharges(fleet_.rng().Between(-4, 5));
    if (Charge& last = adjust.charges.back(); last.target->key.entity == "team") {
      last.shard = fleet_.rng().Chance(0.5) ? kSpread | 2U
                                            : static_cast<std::uint32_t>(fleet_.rng().Below(2));
    }
    adjust.token = {fleet_.rng().Next(), fleet_.rng().Next()};
    if (fleet_.rng().Chance(0.5)) adjust.store = &fleet_.AnyStore();
    const milliseconds first = fleet_.DrawBelow(std::chrono::seconds(5));
    const std::int64_t times = fleet_.rng().Between(1, 3);
    for (std::int64_t i = 0; i < times; ++i) {
      const milliseconds later =
          fleet_.DrawBelow(milliseconds(fleet_.rng().Chance(0.5) ? 30 : 800));
      fleet_.scheduler().At(fleet_.scheduler().clock().Now() + first + later,
                            [this, &adjust] { Ask(adjust, fleet_.rng().Chance(0.3)); });
    }
  }
  /// Repeats the adjusts that no result has reported as counted. Only forfeited ones may fail.
  void RepeatFailed() {
    for (RepeatedAdjust& adjust : adjusts_) {
      if (adjust.counted == 0) Ask(adjust, false);
    }
  }
  void NoteAll() {
    for (const RepeatedAdjust& adjust : adjusts_) {
      if (adjust.counted > 0) fleet_.Note(adjust.charges);
    }
  }
  int CountUnknown() const {
    return static_cast<int>(std::ranges::count(adjusts_, 0, &RepeatedAdjust::counted));
  }
  int asked() const { return asked_; }
  int counted() const { return Sum(&RepeatedAdjust::counted); }
  int failed() const { return Sum(&RepeatedAdjust::failed); }

 private:
  void Ask(RepeatedAdjust& adjust, bool is_hasty) {
    ++asked_;
    DynamoBucketStore& store = adjust.store == nullptr ? fleet_.AnyStore() : *adjust.store;
    const Clock& clock = fleet_.scheduler().clock();
    const Deadline deadline =
        is_hasty ? Deadline::After(clock, milliseconds(30)) : Deadline::Never();
    auto done = [&adjust](const Status& status) { ++(status ? adjust.counted : adjust.failed); };
    AdjustTerms terms = adjust.token;
    terms.is_shared = adjust.store == nullptr;
    store.Adjust(adjust.charges, terms, store.Now(), deadline, std::move(done));
  }
  int Sum(int RepeatedAdjust::* member) const {
    int sum = 0;
    for (const RepeatedAdjust& adjust : adjusts_) sum += adjust.*member;
    return sum;
  }

  ConservedFleet& fleet_;
  std::deque<RepeatedAdjust> adjusts_;
  int asked_ = 0;
};

class AdjustConservation : public testing::TestWithParam<ConservationTerms> {};

TEST_P(AdjustConservation, EachTokenCountsOnce) {
  int asked = 0, counted = 0, failed = 0;
  std::uint64_t without_forfeits = 0;
  for (std::uint64_t seed = 1; seed <= kAdjustSeeds; ++seed) {
    ConservedFleet fleet(seed, GetParam());
    RepeatedAdjusts adjusts(fleet);
    fleet.AskForTakes(kTakesOfARun);
    for (int i = 0; i < kAdjustsOfARun; ++i) adjusts.Begin();
    ASSERT_TRUE(fleet.Run()) << "seed " << seed;
    fleet.HealAll();
    adjusts.RepeatFailed();
    ASSERT_TRUE(fleet.Run()) << "seed " << seed;
    adjusts.NoteAll();
    EXPECT_EQ(fleet.Compare(), "");
    EXPECT_LE(adjusts.CountUnknown(), fleet.Tally().forfeits) << "seed " << seed;
    without_forfeits += fleet.Tally().forfeits == 0;
    asked += adjusts.asked();
    counted += adjusts.counted();
    failed += adjusts.failed();
  }
  EXPECT_EQ(counted + failed, asked);
  EXPECT_GT(counted, 0);
  EXPECT_GT(failed, 0);
  EXPECT_GE(without_forfeits, kAdjustSeeds * 3 / 4);
}

INSTANTIATE_TEST_SUITE_P(
    Fleets, AdjustConservation,
    testing::Values(ConservationTerms{.name = "Plain"},
                    ConservationTerms{.name = "Throttled", .network = {.throttled = 0.3}},
                    ConservationTerms{.name = "Losing", .processes = 3, .network = {.lost = 0.05}}),
    [](const auto& run) { return run.param.name; });

}  // namespace
}  // namespace weir::dynamo
