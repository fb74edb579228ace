// Several threads use one Limiter. The assertions hold in any interleaving; the thread sanitizer
// finds data races.
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "weir/base/mutex.h"
#include "weir/base/rng.h"
#include "weir/limiter/limiter.h"
#include "weir/limiter/testing/probe_backend.h"
#include "weir/runtime/loop.h"
#include "weir/store/memory/memory_backend.h"

namespace weir {
namespace {

std::vector<Limit> Calls(std::int64_t capacity) {
  return {{"calls", PerPeriod(capacity, milliseconds(1))}};
}

class LimiterStress : public ::testing::Test {
 protected:
  SystemClock clock_;
  Loop loop_{clock_};
  std::unique_ptr<Backend> memory_ =
      MakeMemoryBackend({.idle_grace = milliseconds(1'000'000'000)}, &clock_);
  Limiter limiter_{*memory_, loop_, {.seed = 1}};
};

// Regression test: the stripe of an entry was found by its targets, which another request replaces.
// Fails if: the targets of an allowance are read without its lock.
TEST_F(LimiterStress, RequestsWithGivenTargetsShareAnAllowance) {
  const std::vector<Limit> limits{
      {.name = "rps", .quota = PerSecond(1'000'000), .allowance = milliseconds(8)}};
  const auto ask = [&] {
    for (int i = 0; i < 20'000; ++i) {
      const AcquirePart part{.amounts = {{"rps", 1}},
                             .target = MakeTarget({.entity = "acme", .resource = "r"}, limits,
                                                  LimitSource::kConfigured)};
      const auto outcome = limiter_.AcquireAll({.parts = {&part, 1}}, Deadline::Never());
      ASSERT_TRUE(outcome && outcome->outcome.admitted());
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) threads.emplace_back(ask);
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(limiter_.stats().allowances.spent, 0U);
}

// Fails if: ResolutionCache increases its epoch only before it visits the stripes: a thread may
// then keep a copy that it read from a stripe just before.
TEST_F(LimiterStress, NobodySeesLimitsFromBeforeAChangeThatIsDone) {
  std::atomic<std::int64_t> published = 1;
  std::atomic<bool> stop = false;
  const auto set = [&](std::int64_t version) {
    std::vector<ConfigChange> changes{Put(Level::EntityDefault("p"), Calls(version))};
    EXPECT_TRUE(limiter_.Apply(std::move(changes), Deadline::Never()));
  };
  ASSERT_TRUE(
      limiter_.Apply({PutChild("a", "p"), Put(Level::System(), Calls(1))}, Deadline::Never()));
  set(1);
  // Many pairs, so that the scan for one entity takes a while.
  for (int i = 0; i < 20'000; ++i) {
    ASSERT_TRUE(limiter_.Resolve("e" + std::to_string(i), "r", Deadline::Never()));
  }
  const auto read = [&] {
    std::uint64_t stale = 0;
    while (!stop) {
      const std::int64_t before = published.load();
      const auto resolved = limiter_.Resolve("a", "r", Deadline::Never());
      const auto outcome = limiter_.Acquire(
          {.entity = "a", .resource = "r", .amounts = {{"calls", 0}}}, Deadline::Never());
      const std::int64_t seen = outcome->decision().limits[1].capacity / kMillitokens;
      stale += (*resolved)->targets[1]->limits[0].quota.capacity < before * kMillitokens;
      stale += seen < before;
    }
    EXPECT_EQ(stale, 0U);
  };
  std::vector<std::thread> readers;
  for (int i = 0; i < 2; ++i) readers.emplace_back(read);
  for (std::int64_t version = 2; version <= 300; ++version) {
    set(version);
    published.store(version);
  }
  stop = true;
  for (std::thread& reader : readers) reader.join();
}

/// Decides whether limits are outdated by their capacity, which only grows in the test, and by the
/// time at which it saw the stored capacity.
class JudgingBackend final : public Backend, public BucketStore {
 public:
  JudgingBackend(Backend& inner, const Clock& clock) : inner_(inner), clock_(clock) {}

  BucketStore& buckets() override { return *this; }
  ConfigStore& config() override { return inner_.config(); }
  Status Close() override { return inner_.Close(); }
  std::string Describe() const override { return "judging"; }

  UnixMillis Now() const override { return inner_.buckets().Now(); }
  void Acquire(std::span<const Charge> charges, UnixMillis, Deadline,
               Done<Decision> done) override {
    const bool outdated = IsOutdated(charges.front());
    done(Decision{.admitted = !outdated, .limits = {}, .outdated = outdated});
  }
  void Adjust(std::span<const Charge>, const AdjustTerms&, UnixMillis, Deadline,
              Done<void> done) override {
    done({});
  }
  void Read(std::span<const BucketKey> keys, Deadline deadline,
            Done<std::vector<std::optional<BucketRecord>>> done) override {
    inner_.buckets().Read(keys, deadline, std::move(done));
  }
  void List(const BucketFilter& filter, const PageRequest& page, Deadline deadline,
            Done<Page<BucketRecord>> done) override {
    inner_.buckets().List(filter, page, deadline, std::move(done));
  }

  void Store(std::int64_t capacity) {
    const MutexLock lock(mutex_);
    capacity_ = capacity * kMillitokens;
    seen_ = clock_.Now();
  }
  std::uint64_t undone() const {
    const MutexLock lock(mutex_);
    return undone_;
  }

 private:
  bool IsOutdated(const Charge& charge) {
    const std::int64_t capacity = charge.target->limits[0].quota.capacity;
    const MutexLock lock(mutex_);
    if (capacity == capacity_) return false;
    if (seen_ > charge.resolved_at) return true;
    undone_ += capacity < capacity_;
    capacity_ = capacity;
    seen_ = clock_.Now();
    return false;
  }

  Backend& inner_;
  const Clock& clock_;
  mutable Mutex mutex_;
  std::int64_t capacity_ WEIR_GUARDED_BY(mutex_) = 0;
  Instant seen_ WEIR_GUARDED_BY(mutex_);
  std::uint64_t undone_ WEIR_GUARDED_BY(mutex_) = 0;
};

// Fails if: charges do not contain the time at which their limits were resolved.
TEST_F(LimiterStress, D6NoThreadUndoesAChangeOfLimits) {
  JudgingBackend store(*memory_, clock_);
  Limiter limiter(store, loop_, {.seed = 1});
  std::atomic<bool> stop = false;
  const auto change = [&](std::int64_t capacity) {
    memory_->config().Apply({Put(Level::EntityDefault("a"), Calls(capacity))}, Deadline::Never(),
                            [](const Status& applied) { EXPECT_TRUE(applied); });
    store.Store(capacity);
  };
  change(1);
  const auto ask = [&] {
    while (!stop) {
      const auto outcome = limiter.Acquire(
          {.entity = "a", .resource = "r", .amounts = {{"calls", 1}}}, Deadline::Never());
      ASSERT_TRUE(outcome);
      EXPECT_TRUE(outcome->admitted() || outcome->decision().contended);
      EXPECT_FALSE(outcome->decision().outdated);
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) threads.emplace_back(ask);
  while (limiter.stats().charged == 0) std::this_thread::yield();
  for (std::int64_t capacity = 2; capacity <= 200; ++capacity) {
    change(capacity);
    const std::uint64_t charged = limiter.stats().charged;
    while (limiter.stats().charged < charged + 2) std::this_thread::yield();
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(store.undone(), 0U);
  EXPECT_GT(limiter.stats().outdated, 0U);
}

/// The tokens that the leases of one thread hold, by entity.
using Taken = std::map<std::string, std::int64_t>;

void Count(const Lease& lease, Taken& taken) {
  for (const Charge& charge : lease.charges()) {
    taken[charge.target->key.entity] += charge.amounts[0];
  }
}

void UseLease(Lease lease, Rng& rng, Taken& taken) {
  switch (rng.Below(4)) {
    case 0:
      EXPECT_TRUE(lease.Cancel());
      return;
    case 1:
      EXPECT_TRUE(lease.Adjust({{"calls", rng.Between(0, 3)}}));
      break;
    case 2:
      EXPECT_TRUE(lease.Release({{"calls", Tokens::Milli(lease.charges()[0].amounts[0] / 2)}}));
      break;
    default:
      break;
  }
  Count(lease, taken);
}

// Fails if: Cancel sends a return under two ids.
TEST_F(LimiterStress, NoTokenIsLostBetweenThreads) {
  ASSERT_TRUE(
      limiter_.Apply({PutChild("a", "p"), PutChild("b", "p"), Put(Level::System(), Calls(20)),
                      Put(Level::EntityDefault("p"), Calls(30))},
                     Deadline::Never()));
  std::atomic<std::uint64_t> results = 0;
  constexpr int kThreads = 3;
  constexpr int kRequests = 1500;
  std::vector<Taken> taken(kThreads);
  const auto work = [&](std::size_t index) {
    Rng rng(index + 1);
    for (int i = 0; i < kRequests; ++i) {
      AcquireRequest request{.entity = rng.Chance(0.5) ? "a" : "b",
                             .resource = "r",
                             .amounts = {{"calls", rng.Between(1, 20)}}};
      request.wait = rng.Chance(0.3);
      const Deadline deadline =
          request.wait ? Deadline::After(clock_, milliseconds(2)) : Deadline::Never();
      auto outcome = limiter_.Acquire(request, deadline);
      ++results;
      // A thread may be stopped for the whole time of its request.
      if (!outcome) {
        ASSERT_EQ(outcome.error().code, Code::kDeadlineExceeded);
        continue;
      }
      if (outcome->admitted()) UseLease(std::move(*outcome).lease(), rng, taken[index]);
      if (rng.Chance(0.01)) limiter_.Invalidate();
    }
  };
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kThreads; ++i) threads.emplace_back(work, i);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(results, kThreads * kRequests);
  const LimiterStats stats = limiter_.stats();
  EXPECT_EQ(stats.admitted + stats.refused + stats.errors, results);
  EXPECT_EQ(stats.waiting, 0U);
  for (const char* entity : {"a", "b", "p"}) {
    const BucketKey key{entity, "r"};
    std::int64_t expected = 0;
    for (Taken& one : taken) expected += one[entity];
    memory_->buckets().Read({&key, 1}, Deadline::Never(), [&](auto records) {
      EXPECT_EQ(records->front()->bucket.meters[0].consumed, expected) << entity;
    });
  }
}

TEST_F(LimiterStress, WhatIsHeldAheadIsSpentOnce) {
  const Limit calls{"calls", PerSecond(20'000), milliseconds(500)};
  ASSERT_TRUE(limiter_.Apply({Put(Level::System(), {calls})}, Deadline::Never()));
  std::atomic<std::uint64_t> admitted = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < 5000; ++j) {
        const auto outcome = limiter_.Acquire(
            {.entity = "a", .resource = "r", .amounts = {{"calls", 1}}}, Deadline::Never());
        ASSERT_TRUE(outcome);
        admitted += outcome->admitted();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const AllowanceStats stats = limiter_.stats().allowances;
  EXPECT_EQ(stats.decisions, 15'000U);
  EXPECT_EQ(stats.spent, admitted * kMillitokens);
  EXPECT_EQ(stats.debited, stats.spent + stats.returned + stats.forfeited + stats.out);
}

TEST_F(LimiterStress, WaitersOfManyThreadsAreAnsweredOnceThoughTheLimiterGoes) {
  for (int round = 0; round < 20; ++round) {
    auto limiter = std::make_unique<Limiter>(*memory_, loop_, LimiterOptions{.seed = 1});
    ASSERT_TRUE(limiter->Apply({Put(Level::System(), {{"calls", PerPeriod(1, milliseconds(1))}})},
                               Deadline::Never()));
    constexpr int kThreads = 2;
    constexpr int kEach = 30;
    std::vector<std::atomic<int>> results(kThreads * kEach);
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        for (std::size_t i = 0; i < kEach; ++i) {
          limiter->Acquire(
              {.entity = "a", .resource = "r", .amounts = {{"calls", 1}}, .wait = true},
              Deadline::Never(),
              [&results, index = t * kEach + i](Result<Outcome>) { ++results[index]; });
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    limiter.reset();
    // When this task runs, the loop has run all earlier tasks of the limiter.
    std::atomic<bool> idle = false;
    loop_.Post([&] {
      idle = true;
      idle.notify_one();
    });
    idle.wait(false);
    for (const auto& result : results) EXPECT_EQ(result.load(), 1);
  }
}

}  // namespace
}  // namespace weir
