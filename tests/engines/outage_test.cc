// A Limiter decides while a real engine is unavailable, responds with errors, or does not respond.
// Run it by tests/engines/run.py --faults.
//
// Every call ends by its deadline and kGrace, which is less than one attempt may take. An error is
// kUnavailable or kDeadlineExceeded; with on_unavailable=allow there is none. Afterwards the same
// Limiter decides again, and no token that was reported as taken is left in the buckets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "tests/engines/fault_control.h"
#include "tests/engines/outage_fleet.h"

namespace weir {
namespace {

/// The system level has kAllow.
constexpr RequestProfile kProfiles[] = {
    {"block", OnUnavailable::kBlock, false},      {"block again", OnUnavailable::kBlock, false},
    {"allow", OnUnavailable::kAllow, false},      {"as the system level says", std::nullopt, false},
    {"block, cold", OnUnavailable::kBlock, true}, {"allow, cold", OnUnavailable::kAllow, true}};
constexpr std::size_t kThreads = std::size(kProfiles);

/// The results of one thread's calls that began and ended in one phase.
struct Tally {
  int taken = 0;        ///< admitted by the store
  int unprotected = 0;  ///< admitted without the store
  int refused = 0;
  int errors = 0;
  int ended() const { return taken + unprotected + refused + errors; }
};

/// Threads that send requests to a fleet continuously, each with its profile, until this is
/// destroyed.
class LoadThreads {
 public:
  explicit LoadThreads(Fleet& fleet) : fleet_(fleet) {
    for (std::size_t i = 0; i < kThreads; ++i) threads_[i] = std::thread([this, i] { Work(i); });
  }
  ~LoadThreads() {
    stop_ = true;
    for (std::thread& thread : threads_) thread.join();
  }

  /// Counts the calls from here to EndPhase.
  void BeginPhase() {
    const std::lock_guard lock(mutex_);
    tallies_ = {};
    phase_ += 1;
  }
  std::array<Tally, kThreads> EndPhase() {
    const std::lock_guard lock(mutex_);
    phase_ += 1;
    return tallies_;
  }

  /// Waits until `enough` accepts the tally of each thread.
  template <class Enough>
  bool Wait(Enough enough) {
    std::unique_lock lock(mutex_);
    return ended_.wait_for(lock, kPatience, [&] { return std::ranges::all_of(tallies_, enough); });
  }

 private:
  void Work(std::size_t i) {
    while (!stop_) {
      const int phase = phase_;
      const Result<Outcome> outcome = fleet_.Acquire(kProfiles[i]);
      Check(kProfiles[i], outcome);
      const std::lock_guard lock(mutex_);
      if (phase != phase_) continue;
      Count(tallies_[i], outcome);
      ended_.notify_all();
    }
  }

  static void Check(const RequestProfile& profile, const Result<Outcome>& outcome) {
    if (outcome) return;
    EXPECT_THAT(outcome.error().code, testing::AnyOf(Code::kUnavailable, Code::kDeadlineExceeded))
        << profile.name << ": " << outcome.error().message;
    EXPECT_EQ(profile.policy, OnUnavailable::kBlock)
        << profile.name << ": " << outcome.error().message;
  }

  static void Count(Tally& tally, const Result<Outcome>& outcome) {
    if (!outcome) {
      ++tally.errors;
    } else if (!outcome->admitted()) {
      ++tally.refused;
    } else {
      ++(outcome->unprotected() ? tally.unprotected : tally.taken);
    }
  }

  Fleet& fleet_;
  std::atomic<bool> stop_ = false;
  std::atomic<int> phase_ = 0;
  std::mutex mutex_;
  std::condition_variable ended_;
  std::array<Tally, kThreads> tallies_;
  std::array<std::thread, kThreads> threads_;
};

/// Sets the engine to `bad` under load and back to `good`.
void Endure(Fleet& fleet, const std::string& bad, const std::string& good) {
  const auto has_taken = [](const Tally& tally) { return tally.taken > 0; };
  LoadThreads load(fleet);
  load.BeginPhase();
  ASSERT_TRUE(load.Wait(has_taken)) << "before it was " << bad;
  load.EndPhase();
  Tell(bad);
  load.BeginPhase();
  EXPECT_TRUE(load.Wait([](const Tally& tally) { return tally.ended() > 0; }));
  const auto tallies = load.EndPhase();
  Tell(good);
  for (std::size_t i = 0; i < kThreads; ++i) {
    EXPECT_EQ(tallies[i].taken, 0) << kProfiles[i].name;
    EXPECT_EQ(tallies[i].refused, 0) << kProfiles[i].name;
    const bool blocks = kProfiles[i].policy == OnUnavailable::kBlock;
    EXPECT_EQ(blocks ? tallies[i].unprotected : tallies[i].errors, 0) << kProfiles[i].name;
  }
  load.BeginPhase();
  EXPECT_TRUE(load.Wait(has_taken)) << "after it was " << bad;
}

/// One Limiter for all outages, one after another.
class Outage : public testing::TestWithParam<const char*> {
 protected:
  static void SetUpTestSuite() { fleet_ = new Fleet(MakeTable("outage", ProxyUrl())); }
  static void TearDownTestSuite() { delete std::exchange(fleet_, nullptr); }
  static inline Fleet* fleet_ = nullptr;
};

TEST_P(Outage, EndsEachCallInTimeAndIsOverWhenItIsOver) {
  Endure(*fleet_, GetParam(), "mode pass");
  fleet_->ExpectReportedIsTaken();
}

INSTANTIATE_TEST_SUITE_P(Engine, Outage,
                         testing::Values("mode status 500", "mode status 503",
                                         "mode error ProvisionedThroughputExceededException",
                                         "mode error ThrottlingException",
                                         "mode error InternalServerError", "mode swallow",
                                         "mode reset", "mode lose", "mode cut", "mode delay 4000"));

// Fails if: a write of an adjust does not require that its id is absent.
TEST(LostAnswer, OfAnAdjustMakesItCountOnce) {
  Fleet fleet(MakeTable("adjust", ProxyUrl()));
  const std::int64_t before = fleet.Consumed("child");
  Result<Outcome> outcome = fleet.Acquire(kProfiles[0]);
  ASSERT_TRUE(outcome) << outcome.error().message;
  Lease lease = std::move(*outcome).lease();
  Tell("mode lose");
  const Status lost = lease.Adjust({{"rpm", 5}});
  Tell("mode pass");
  EXPECT_FALSE(lost);
  Status settled = lease.Commit();
  EXPECT_TRUE(settled) << settled.error().message;
  EXPECT_EQ(fleet.Consumed("child"), before + 6);
  EXPECT_EQ(fleet.Consumed("parent"), before + 6);
}

TEST(Kill, IsEnduredUnderLoadWithTheDataKept) {
  Fleet fleet(MakeTable("kill", EngineUrl()));
  for (int kill = 0; kill < 2; ++kill) {
    Endure(fleet, "kill", "start");
    fleet.ExpectReportedIsTaken();
  }
}

}  // namespace
}  // namespace weir
