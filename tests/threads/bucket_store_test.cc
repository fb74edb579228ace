// Many threads on one bucket store, and on a limiter above it. The DynamoDB below completes calls
// on other threads and loses requests and responses. No test depends on the speed of the threads.
#include "weir/zae_table/bucket/bucket_store.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "tests/threads/store_callers.h"
#include "weir/limiter/limiter.h"
#include "weir/runtime/await.h"
#include "weir/zae_table/config/config_store.h"

namespace weir::dynamo {
namespace {

void Close(DynamoBucketStore& store) {
  EXPECT_TRUE(
      Await<void>([&](Done<void> done) { store.Close(Deadline::Never(), std::move(done)); }));
}

void ExpectOneResultEach(const StoreCallers& callers) {
  EXPECT_EQ(callers.dropped(), 0U);
  for (const std::atomic<int>& results : callers.results()) ASSERT_EQ(results, 1);
}

void ExpectStored(StoreWorld& world, const StoreCallers& callers, std::int64_t forfeits) {
  for (std::size_t i = 0; i < kBuckets; ++i) {
    const Account& account = callers.account(i);
    const std::int64_t stored = world.Taken(TargetOf(i)->key);
    const std::int64_t doubt = account.doubt + forfeits * kMaxTaken;
    EXPECT_LE(std::abs(stored - account.taken), doubt)
        << kEntities[i] << ": stored " << stored << ", told " << account.taken;
  }
}

TEST(BucketStoreThreads, EachCallHasOneAnswerAndWhatCallersWereToldIsStored) {
  constexpr std::size_t kChains = 4;
  constexpr std::size_t kThreads = 8;
  constexpr std::size_t kEach = 80;
  StoreWorld world(1);
  auto store = world.Open(2);
  StoreCallers callers(world, *store, (kChains + kThreads) * kEach);
  for (std::size_t i = 0; i < kChains; ++i) callers.CallFromCallbacks(kEach);
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < kThreads; ++i) {
      threads.emplace_back([&callers] { callers.CallInTurn(kEach); });
    }
  }
  callers.AwaitEnds((kChains + kThreads) * kEach);
  Close(*store);
  store->AwaitRequests();
  const std::int64_t forfeits = store->forfeits();
  store.reset();
  world.Settle();
  ExpectOneResultEach(callers);
  EXPECT_GT(callers.late(), 0U);
  EXPECT_GT(callers.refused(), 0U);
  EXPECT_GT(world.dynamo.applied_failures(), 0U);
  ExpectStored(world, callers, forfeits);
  EXPECT_LE(world.Taken(TargetOf(kScarce)->key), kScarceTokens * kMillitokens);
}

// Fails if: Close completes before the last callback.
TEST(BucketStoreThreads, NoCallIsAnsweredAfterCloseIsAndNothingIsLost) {
  constexpr std::size_t kThreads = 4;
  constexpr std::size_t kEach = 50;
  for (std::uint64_t round = 1; round <= 4; ++round) {
    StoreWorld world(round);
    auto store = world.Open(round);
    StoreCallers callers(world, *store, kThreads * kEach);
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < kThreads; ++i) {
      threads.emplace_back([&callers] { callers.CallFromCallbacks(kEach); });
    }
    callers.AwaitEnds(kThreads * kEach / 2);
    Close(*store);
    threads.clear();  // requests that begin now are refused at once
    ExpectOneResultEach(callers);
    const std::int64_t forfeits = store->forfeits();
    store.reset();
    world.Settle();
    ExpectOneResultEach(callers);
    ExpectStored(world, callers, forfeits);
  }
}

// Callers get their results at their deadlines; the responses arrive after the store is destroyed.
TEST(BucketStoreThreads, TheStoreMayGoBeforeTheResponsesToItsRequests) {
  constexpr std::size_t kThreads = 4;
  constexpr std::size_t kEach = 10;
  for (std::uint64_t round = 1; round <= 20; ++round) {
    StoreWorld world(round);
    auto store = world.Open(round);
    StoreCallers callers(world, *store, kThreads * kEach);
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < kThreads; ++i) {
      threads.emplace_back([&callers] {
        for (std::size_t call = 0; call < kEach; ++call) callers.CallFromCallbacks(1);
      });
    }
    threads.clear();
    callers.AwaitEnds(kThreads * kEach);
    store.reset();
    world.Settle();
    ExpectOneResultEach(callers);
  }
}

/// Buckets and configuration on one table.
class TwoStores final : public Backend {
 public:
  explicit TwoStores(StoreWorld& world)
      : buckets_(world.Open(1)),
        config_(
            world.table, Keys("ns"), {.now = {}, .random = [this] { return ++last_random_; }},
            [this](std::string_view entity) { buckets_->Forget(entity); }, buckets_.get()) {}

  BucketStore& buckets() override { return *buckets_; }
  ConfigStore& config() override { return config_; }
  Status Close() override { return {}; }
  std::string Describe() const override { return "two stores"; }
  DynamoBucketStore& store() { return *buckets_; }

 private:
  std::atomic<std::uint64_t> last_random_ = 0;
  const std::unique_ptr<DynamoBucketStore> buckets_;
  DynamoConfigStore config_;
};

void SetLimit(Limiter& limiter, std::int64_t tokens) {
  const LevelLimits limits{.limits = {{"calls", PerPeriod(tokens, milliseconds(kMaxPeriodMillis))}},
                           .on_unavailable = {}};
  const PutLimits put{.level = Level::EntityDefault("all"), .limits = limits};
  while (!limiter.Apply({put}, Deadline::Never())) continue;
}

TEST(LimiterOnBucketStoreThreads, WhatIsAdmittedWhileLimitsChangeIsStored) {
  constexpr int kThreads = 6;
  constexpr int kEach = 60;
  StoreWorld world(1);
  TwoStores backend(world);
  std::atomic<std::int64_t> taken = kMillitokens;  // taken when the bucket was created
  std::atomic<std::int64_t> doubt = 0;
  {
    Limiter limiter(backend, world.loop, {.seed = 1});
    SetLimit(limiter, 1'000);
    const auto ask = [&] {
      for (int i = 0; i < kEach; ++i) {
        const auto patience =
            i % 3 == 0 ? Deadline::After(world.clock, milliseconds(i % 4)) : Deadline::Never();
        const auto outcome = limiter.Acquire(
            {.entity = "all", .resource = "llm", .amounts = {{"calls", 1}}}, patience);
        if (!outcome) continue;
        if (outcome->admitted()) taken += kMillitokens;
        if (outcome->decision().maybe_charged_twice) doubt += kMillitokens;
      }
    };
    std::vector<std::jthread> threads;
    for (int i = 0; i < kThreads; ++i) threads.emplace_back(ask);
    for (std::int64_t tokens = 1'001; tokens <= 1'010; ++tokens) SetLimit(limiter, tokens);
  }
  Close(backend.store());
  world.Settle();
  const std::int64_t stored = world.Taken({"all", "llm", 0});
  EXPECT_GT(taken, kMillitokens);
  EXPECT_LE(std::abs(stored - taken), doubt + backend.store().forfeits() * kMillitokens)
      << "stored " << stored << ", told " << taken;
}

}  // namespace
}  // namespace weir::dynamo
