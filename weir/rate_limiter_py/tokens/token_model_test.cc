// Several processes of ours on one bucket, with concurrent requests, compared with the slow and
// obvious bucket.
#include <gtest/gtest.h>

#include <set>

#include "weir/base/rng.h"
#include "weir/rate_limiter_py/testing/token_fixture.h"

namespace weir::rate_limiter_py {
namespace {

constexpr int kSeeds = 300;
constexpr int kAsks = 60;
constexpr std::size_t kProcesses = 3;

using Processes = std::vector<std::unique_ptr<TokenTable>>;

Processes StartProcesses(TokenSim& sim, Rng& rng) {
  Processes processes;
  while (processes.size() < kProcesses) {
    processes.push_back(
        std::make_unique<TokenTable>(sim.sim.table, TokenTableOptions{.seed = rng.Next()}));
  }
  return processes;
}

class TokenFleet {
 public:
  explicit TokenFleet(std::uint64_t seed) : rng_(seed), processes_(StartProcesses(sim_, rng_)) {
    limit_.window = std::chrono::seconds(rng_.Between(1, 100));
    ChangeLimit();
    model_ = std::make_unique<TokenModel>(limit_);
    // Other requests are made while a request is in flight.
    sim_.sim.client.before_each = [this](const JsonCall&) {
      while (rng_.Chance(0.3)) Ask();
    };
  }

  void Run() {
    for (int i = 0; i < kAsks; ++i) {
      if (rng_.Chance(0.6)) later_ += rng_.Between(0, Millis() / limit_.limit * 2);
      if (rng_.Chance(0.1)) later_ += rng_.Between(0, 2 * Millis());
      if (rng_.Chance(0.05)) ChangeLimit();
      if (rng_.Chance(0.05)) processes_ = StartProcesses(sim_, rng_);
      Ask();
      if (testing::Test::HasFatalFailure()) return;
    }
  }

 private:
  // Never returns to an earlier limit: see token_take.h.
  void ChangeLimit() {
    do {
      limit_.limit = rng_.Between(1, 30);
    } while (!used_.insert(limit_.limit).second);
  }

  std::int64_t Millis() const { return milliseconds(limit_.window).count(); }

  void Ask() {
    const std::int64_t count = rng_.Chance(0.7) ? 1 : rng_.Between(1, limit_.limit);
    TokenTable& process = *processes_[rng_.Below(kProcesses)];
    const auto result = sim_.Take(process, later_, count, limit_);
    ASSERT_TRUE(result) << result.error().message;
    ASSERT_EQ(result->taken, model_->Take(later_, count, limit_));
    const std::int64_t available = model_->AvailableAt(later_, limit_);
    if (result->taken) {
      ASSERT_EQ(result->available, available);
    } else {
      // Others may have taken since this process read the bucket: its wait may be too short, but is
      // never too long.
      ASSERT_GE(result->available, available);
      ASSERT_FALSE(
          TokenModel(*model_).Take(later_ + result->retry_after.count() - 1, count, limit_));
    }
  }

  TokenSim sim_;
  Rng rng_;
  Processes processes_;
  AccountLimit limit_;
  std::set<std::int64_t> used_;
  std::unique_ptr<TokenModel> model_;
  std::int64_t later_ = 0;
};

TEST(TokenModel, ManyProcessesDecideAsOneExactBucket) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    TokenFleet(seed).Run();
    if (HasFatalFailure()) return;
  }
}

// A process that is alone returns the exact millisecond.
TEST(TokenModel, AWaitThatIsToldIsTheShortest) {
  Rng rng(7);
  for (int i = 0; i < 300; ++i) {
    const AccountLimit limit{rng.Between(1, 20), std::chrono::seconds(rng.Between(1, 100))};
    const std::int64_t count = rng.Between(1, limit.limit);
    TokenSim sim;
    ASSERT_TRUE(sim.Take(0, rng.Between(1, limit.limit), limit)->taken);
    const std::int64_t later = rng.Between(0, 500);
    const auto result = sim.Take(later, count, limit);
    if (result->taken) continue;
    const std::int64_t wait = result->retry_after.count();
    EXPECT_FALSE(sim.Take(later + wait - 1, count, limit)->taken);
    EXPECT_TRUE(sim.Take(later + wait, count, limit)->taken);
  }
}

// L5. In [s, t] of true time: at most limit + rate * (t - s + d), for clocks that differ by d.
TEST(TokenModel, ClocksThatDifferAddWhatComesBackInTheirDifference) {
  constexpr std::int64_t kSkew = 7000;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Rng rng(seed);
    TokenSim sim;
    const Processes processes = StartProcesses(sim, rng);
    std::vector<std::int64_t> taken;  // the times of takes
    for (std::int64_t now = 0; now < 300'000; now += rng.Between(0, 6000)) {
      const std::size_t who = rng.Below(kProcesses);
      const std::int64_t ahead = kSkew / 2 * static_cast<std::int64_t>(who);
      if (sim.Take(*processes[who], now + ahead)->taken) taken.push_back(now);
    }
    for (std::size_t i = 0; i < taken.size(); ++i) {
      for (std::size_t j = i; j < taken.size(); ++j) {
        const std::int64_t most = 10 + (taken[j] - taken[i] + kSkew) / 10'000;
        ASSERT_LE(static_cast<std::int64_t>(j - i + 1), most) << seed;
      }
    }
    EXPECT_GE(taken.size(), 35U) << "all that came back in 300 s, less what skew may cost";
  }
}

}  // namespace
}  // namespace weir::rate_limiter_py
