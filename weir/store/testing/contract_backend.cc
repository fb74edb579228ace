// The backend as a whole: threads, calls within callbacks, closing.
#include <atomic>
#include <barrier>
#include <chrono>
#include <thread>
#include <vector>

#include "weir/store/testing/contract.h"

namespace weir {
namespace {

constexpr int kThreads = 4;

// A store may repeat a slow call with a later time. This limit is so slow that tokens which come
// back by then do not matter.
Limit Slow(std::int64_t tokens) { return {"rpd", PerDay(1).Burst(tokens)}; }

// The results of calls that many threads made. Must outlive every callback.
struct Tally {
  std::atomic<int> admitted = 0;
  std::atomic<int> completed = 0;
};

// Runs `work(thread)` on all threads at the same time.
template <class Work>
void OnThreads(const Work& work) {
  std::barrier start(kThreads);
  std::vector<std::jthread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&start, &work, i] {
      start.arrive_and_wait();
      work(i);
    });
  }
}

// Fails if: the buckets of a request are not all locked while it is decided. Hangs if they are
// locked in the order of the request. (Each of many cascades has one token: wherever a thread is
// interrupted, it holds a decision that no other thread may make.)
TEST_P(StoreContractThreads, ThreadsThatShareACascadeTakeExactlyWhatIsThere) {
  const UnixMillis now = harness_->now();  // idle buckets are swept by this time
  const int cascades = 100 * harness_->cases();
  std::vector<std::vector<Charge>> up;
  for (int i = 0; i < cascades; ++i) {
    up.push_back({Tokens(FreshTarget({Slow(1)}), {1}), Tokens(FreshTarget({Slow(1)}), {1})});
  }
  Tally tally;
  OnThreads([&](int thread) {
    for (std::vector<Charge> charges : up) {
      if (thread % 2 == 1) std::swap(charges[0], charges[1]);
      harness_->backend().buckets().Acquire(charges, now, Deadline::Never(),
                                            [&tally](Result<Decision> decision) {
                                              if (decision && decision->admitted) ++tally.admitted;
                                              ++tally.completed;
                                            });
    }
  });
  EXPECT_TRUE(store_.PumpUntil([&] { return tally.completed >= kThreads * cascades; }));
  EXPECT_EQ(tally.completed, kThreads * cascades);
  EXPECT_EQ(tally.admitted, cascades);
  for (const std::vector<Charge>& charges : up) {
    ASSERT_EQ(Balance(charges[0].target, now), Balances{0});
    ASSERT_EQ(Balance(charges[1].target, now), Balances{0});
  }
}

// Fails if: an id is looked up before the buckets are locked, and stored afterwards.
TEST_P(StoreContractThreads, ThreadsThatRepeatAnAdjustCountItOnce) {
  const UnixMillis now = harness_->now();  // idle buckets are swept by this time
  const int tokens = 100 * harness_->cases();
  const TargetPtr child = FreshTarget({Slow(100'000)});
  const TargetPtr parent = FreshTarget({Slow(100'000)});
  std::vector<AdjustId> adjusts;
  for (int i = 0; i < tokens; ++i) adjusts.push_back(store_.NewAdjustId());
  Tally tally;
  OnThreads([&](int) {
    for (const AdjustId token : adjusts) {
      const std::vector<Charge> charges = {Tokens(child, {1}), Tokens(parent, {1})};
      harness_->backend().buckets().Adjust(charges, token, now, Deadline::Never(),
                                           [&tally](const Status& status) {
                                             EXPECT_TRUE(status) << status.error().message;
                                             ++tally.completed;
                                           });
    }
  });
  EXPECT_TRUE(store_.PumpUntil([&] { return tally.completed >= kThreads * tokens; }));
  EXPECT_EQ(tally.completed, kThreads * tokens);
  EXPECT_EQ(Balance(child, now), Balances{(100'000 - tokens) * kMillitokens});
  EXPECT_EQ(Balance(parent, now), Balances{(100'000 - tokens) * kMillitokens});
}

// Fails if: the check that an entity exists and its creation are two steps.
TEST_P(StoreContractThreads, ThreadsThatCreateAnEntityCreateItOnce) {
  const int entities = 5 * harness_->cases();
  std::vector<std::string> ids;
  for (int i = 0; i < entities; ++i) ids.push_back(Fresh("acme"));
  Tally tally;
  OnThreads([&](int) {
    for (const std::string& id : ids) {
      harness_->backend().config().Apply({CreateEntity{{.entity = {.id = id}}}}, Deadline::Never(),
                                         [&tally](Status status) {
                                           if (status) ++tally.admitted;
                                           ++tally.completed;
                                         });
    }
  });
  EXPECT_TRUE(store_.PumpUntil([&] { return tally.completed >= kThreads * entities; }));
  EXPECT_EQ(tally.completed, kThreads * entities);
  EXPECT_EQ(tally.admitted, entities);
}

// Hangs, or fails under a sanitizer, if: a callback runs under a lock.
TEST_P(StoreContract, AnswersMayCallTheStoreAgain) {
  const TargetPtr acme = FreshTarget({Rpm(10)});
  BucketStore& buckets = harness_->backend().buckets();
  ConfigStore& config = harness_->backend().config();
  const std::vector<ConfigChange> create = {CreateEntity{{.entity = {.id = Fresh("acme")}}}};
  std::atomic<int> results = 0;  // callbacks may also run on a thread of the backend
  const auto take = [&](Done<Decision> done) {
    const std::vector<Charge> charges = {Tokens(acme, {1})};
    buckets.Acquire(charges, kStart, Deadline::Never(), std::move(done));
  };
  const auto last = [&](Result<Page<EntityRecord>> page) { results += page ? 1 : 0; };
  const auto third = [&](Status status) {
    results += status ? 1 : 0;
    config.ListEntities({}, {}, Deadline::Never(), last);
  };
  const auto second = [&](Result<Decision> decision) {
    results += decision && decision->admitted ? 1 : 0;
    config.Apply(create, Deadline::Never(), third);
  };
  take([&](Result<Decision> decision) {
    results += decision && decision->admitted ? 1 : 0;
    take(second);
  });
  EXPECT_TRUE(store_.PumpUntil([&] { return results == 4; })) << results.load();
  EXPECT_EQ(Balance(acme, kStart), Balances{8000});
}

TEST_P(StoreContract, AClosedBackendIsUnavailable) {
  const TargetPtr acme = FreshTarget({Rpm(10)});
  const std::string id = acme->key.entity;
  ASSERT_TRUE(Ask({Tokens(acme, {1})}, kStart).admitted);
  EXPECT_TRUE(harness_->backend().Close());
  const std::vector<Charge> charges = {Tokens(acme, {1})};
  EXPECT_EQ(ErrorOf(store_.Acquire(charges, kStart)).code, Code::kUnavailable);
  EXPECT_EQ(ErrorOf(store_.Adjust(charges, kStart)).code, Code::kUnavailable);
  EXPECT_EQ(ErrorOf(store_.Read({acme->key})).code, Code::kUnavailable);
  EXPECT_EQ(ErrorOf(store_.List({}, {})).code, Code::kUnavailable);
  EXPECT_EQ(ErrorOf(store_.GetLimits({Level::System()})).code, Code::kUnavailable);
  EXPECT_EQ(ErrorOf(store_.ListLimits({}, {})).code, Code::kUnavailable);
  EXPECT_EQ(ErrorOf(store_.GetEntities({id})).code, Code::kUnavailable);
  EXPECT_EQ(ErrorOf(store_.ListEntities({}, {})).code, Code::kUnavailable);
  EXPECT_EQ(ErrorOf(store_.Apply({DeleteEntity{id}})).code, Code::kUnavailable);
  EXPECT_EQ(ErrorOf(store_.ListEvents(id, {})).code, Code::kUnavailable);
  EXPECT_EQ(ErrorOf(store_.ListUsage({.entity = id}, {})).code, Code::kUnavailable);
  EXPECT_EQ(ErrorOf(store_.Register(id)).code, Code::kUnavailable);
  EXPECT_EQ(ErrorOf(store_.ListNamespaces({})).code, Code::kUnavailable);
  EXPECT_TRUE(harness_->backend().Close()) << "a second time";
}

TEST_P(StoreContract, SaysWhereItKeepsThings) {
  EXPECT_NE(harness_->backend().Describe().find(':'), std::string::npos);
}

// A table forgets buckets that are full again, which no decision shows.
TEST_P(StoreContract, BucketsThatAreFullAgainMayBeForgotten) {
  const TargetPtr acme = FreshTarget({Rpm(10)});
  const TargetPtr indebted = FreshTarget({Rpm(10)});
  ASSERT_TRUE(Ask({Tokens(acme, {10})}, kStart).admitted);
  ASSERT_TRUE(store_.Adjust({Tokens(indebted, {1'000'000'000})}, kStart));
  UnixMillis now = kStart;
  for (int i = 0; i < 300; ++i) {
    now = now + std::chrono::hours(1);
    ASSERT_TRUE(Ask({Tokens(FreshTarget({Rpm(10)}), {1})}, now).admitted);
  }
  EXPECT_EQ(Balance(acme, now), Balances{10'000});
  // In 300 hours, 180,000 tokens come back.
  EXPECT_EQ(Balance(indebted, now), Balances{(10 - 1'000'000'000 + 180'000) * kMillitokens});
}

}  // namespace
}  // namespace weir
