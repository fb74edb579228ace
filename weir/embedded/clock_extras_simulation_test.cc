// Boots under wrong clocks, with a file whose bucket has more limits than meters, and sets of
// limits that alternate. The message of a failure has its seed.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "weir/base/rng.h"
#include "weir/embedded/testing/embedded_fixture.h"

namespace weir {
namespace {

constexpr Quota kOfEachName = PerMinute(60);
constexpr int kNames = 30;  // a bucket has 20 meters for limits that are not configured
constexpr int kTurns = 300;

/// A machine and the file on it. In true time, each limit must admit at most the tokens of a full
/// bucket of its own, which is filled again at each boot.
class NamedLimitsWorld {
 public:
  explicit NamedLimitsWorld(std::uint64_t seed) : rng_(seed), seed_(seed) {
    path_ = folder_ / "weir.db";
    Open();
  }
  ~NamedLimitsWorld() { EXPECT_TRUE(backend_->Close()); }
  NamedLimitsWorld(const NamedLimitsWorld&) = delete;
  NamedLimitsWorld& operator=(const NamedLimitsWorld&) = delete;

  void Turn() {
    ++turn_;
    if (rng_.Below(30) == 0) Boot();
    Pass(milliseconds(static_cast<std::int64_t>(rng_.Below(1000))));
    const bool overrides = rng_.Below(3) > 0;
    const std::size_t count = 1 + rng_.Below(3);
    std::vector<Limit> limits;
    if (!overrides) limits.push_back({"rpm", kOfEachName});
    const std::uint64_t first = rng_.Below(kNames);
    for (std::size_t i = 0; i < count; ++i) {
      limits.push_back({fmt::format("name-{}", (first + i) % kNames), kOfEachName});
    }
    Charge charge{MakeTarget({"acme", "llm"}, limits,
                             overrides ? LimitSource::kOverride : LimitSource::kConfigured),
                  {}};
    for (const Limit& limit : limits) {
      (void)limit;
      charge.amounts.push_back(static_cast<std::int64_t>(rng_.Below(61)) * kMillitokens);
    }
    Take(charge);
  }

 private:
  void Take(const Charge& charge) {
    std::optional<Result<Decision>> result;
    BucketStore& store = backend_->buckets();
    store.Acquire({&charge, 1}, store.Now(), Deadline::Never(),
                  [&](Result<Decision> decision) { result.emplace(std::move(decision)); });
    while (!result) scheduler_.RunReady();
    ASSERT_TRUE(*result) << result->error().message;
    const Decision& decision = **result;
    // At most a minute until bucket time reaches the stored time, and one until the limit is full.
    ASSERT_LE(decision.retry_after, std::chrono::minutes(2)) << Where();
    for (std::size_t i = 0; decision.admitted && i < charge.amounts.size(); ++i) {
      const std::string& name = charge.target->limits[i].name;
      Meter& most = most_.try_emplace(name, FullMeter(kOfEachName)).first->second;
      ASSERT_GE(most.tokens, charge.amounts[i]) << Where() << name << ": over its limit";
      Debit(most, charge.amounts[i]);
    }
  }

  void Pass(milliseconds time) {
    scheduler_.Advance(time);
    for (auto& [name, most] : most_) Refill(most, time.count());
    truth_ = truth_ + time;
  }

  void Boot() {
    scheduler_.sim_clock().Suspend(std::chrono::seconds(10), /*is_counted=*/false);
    scheduler_.sim_clock().Reboot();
    truth_ = truth_ + std::chrono::seconds(10);
    ++boots_;
    EXPECT_TRUE(backend_->Close());
    most_.clear();
    const milliseconds wrong[] = {milliseconds(0), std::chrono::days(74 * 365),
                                  std::chrono::hours(1), std::chrono::hours(-1)};
    scheduler_.sim_clock().SetWall(truth_ + wrong[rng_.Below(4)]);
    Open();
    scheduler_.sim_clock().SetWall(truth_);
  }

  void Open() {
    const BootIdentity boot{fmt::format("boot-{}", boots_), "time:[1]"};
    auto opened = OpenEmbedded(path_, scheduler_, {.boot = boot});
    ASSERT_TRUE(opened) << opened.error().message;
    backend_ = *std::move(opened);
  }
  std::string Where() const { return fmt::format("seed {}, turn {}: ", seed_, turn_); }

  TempFolder folder_;
  std::string path_;
  sim::SimScheduler scheduler_;
  Rng rng_;
  std::uint64_t seed_;
  UnixMillis truth_ = scheduler_.clock().WallNow();
  std::unique_ptr<EmbeddedBackend> backend_;
  std::map<std::string, Meter> most_;
  int turn_ = 0;
  int boots_ = 0;
};

// Fails if: after a boot under a wrong clock, any time of a bucket stays far ahead: that of a
// configured meter, of an extra one, or of limits that left early.
TEST(ClockExtrasSimulation, C4ABootUnderAWrongClockCostsEachLimitACapacityAtMost) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    NamedLimitsWorld world(seed);
    for (int turn = 0; turn < kTurns; ++turn) {
      world.Turn();
      if (HasFatalFailure()) return;
    }
  }
}

}  // namespace
}  // namespace weir
