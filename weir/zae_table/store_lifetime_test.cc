// The end of a store: Close, destruction in callbacks, and work that is still in flight.
#include <gtest/gtest.h>

#include "weir/zae_table/bucket/bucket_store.h"
#include "weir/zae_table/testing/sharding_fixture.h"
#include "weir/zae_table/testing/zae_sim_table.h"
#include "weir/zae_table/zae_layout.h"

namespace weir::dynamo {
namespace {

std::vector<Charge> TakeOf(std::int64_t tokens) {
  return {{.target = MakeTarget({"acme", "llm", 0}, {kRpm}), .amounts = {tokens * 1'000}}};
}

/// Each call takes `latency`, or completes before it returns if that is 0. With `loses_next`, the
/// next write fails as if its response was lost.
class LatencyClient final : public JsonClient {
 public:
  explicit LatencyClient(ZaeSimTable& table) : table_(table) {}
  void Call(JsonCall call, Deadline deadline, JsonDone done) override {
    ++calls;
    if (loses_next && call.operation != "BatchGetItem") {
      loses_next = false;
      return done(tl::unexpected(AwsFailure{.kind = FailureClass::kAmbiguous,
                                            .message = "lost",
                                            .attempts = 1,
                                            .maybe_applied = true}));
    }
    if (latency == milliseconds(0))
      return table_.client.Call(std::move(call), deadline, std::move(done));
    table_.scheduler.At(table_.scheduler.clock().Now() + latency,
                        [this, call = std::move(call), deadline, done = std::move(done)]() mutable {
                          table_.client.Call(std::move(call), deadline, std::move(done));
                        });
  }

  milliseconds latency{0};
  bool loses_next = false;
  int calls = 0;

 private:
  ZaeSimTable& table_;
};

class StoreLifetimeTest : public testing::Test {
 protected:
  StoreLifetimeTest()
      : client_(world_),
        table_(std::make_unique<Table>(client_, world_.scheduler, world_.table.name(), 3,
                                       ZaeLayout())),
        store_(std::make_unique<DynamoBucketStore>(*table_, kShardKeys, world_.scheduler,
                                                   BucketStoreOptions{.seed = 1})) {}
  using ResultPtr = std::shared_ptr<std::optional<Result<Decision>>>;
  ResultPtr Acquire(std::int64_t tokens, Deadline deadline = kNever) {
    auto result = std::make_shared<std::optional<Result<Decision>>>();
    store_->Acquire(TakeOf(tokens), store_->Now(), deadline,
                    [result](Result<Decision> decision) { result->emplace(std::move(decision)); });
    return result;
  }
  Deadline In(std::int64_t millis) {
    return Deadline::After(world_.scheduler.clock(), milliseconds(millis));
  }
  /// Stores a bucket of two shards, one of which is missing.
  void PutHalfABucket() {
    Item item = ShardItem(0, 2, 50'000);
    item["rf"] = Of(world_.table.Now().value);
    world_.Put(std::move(item));
  }

  ZaeSimTable world_;
  LatencyClient client_;
  std::unique_ptr<Table> table_;
  std::unique_ptr<DynamoBucketStore> store_;
};

// Fails if: work on shards for a call continues after the table is destroyed. Under asan that is a
// use after free.
TEST_F(StoreLifetimeTest, NothingIsAskedOfTheTableAfterTheStoreIsGone) {
  PutHalfABucket();
  client_.latency = milliseconds(300);
  const ResultPtr result = Acquire(60, In(700));
  while (!*result && world_.scheduler.RunNext()) {
  }
  ASSERT_EQ((*result)->error().code, Code::kDeadlineExceeded);
  store_.reset();
  table_.reset();
  const int calls = client_.calls;
  world_.scheduler.RunAll();
  EXPECT_EQ(client_.calls, calls);
}

TEST_F(StoreLifetimeTest, ManyCallersHaveTheMissingShardMadeOnce) {
  PutHalfABucket();
  client_.latency = milliseconds(300);
  std::vector<ResultPtr> results;
  for (int i = 0; i < 50; ++i) results.push_back(Acquire(52));  // more than one shard has
  const ResultPtr hasty = Acquire(60, In(650));
  world_.scheduler.RunAll();
  for (const ResultPtr& result : results) EXPECT_TRUE(*result && **result) << "a decision";
  EXPECT_FALSE(**hasty) << "it waited for the shards until its deadline";
  EXPECT_EQ(world_.server.counts().Requests("TransactWriteItems"), 1U);
}

// Fails if: the part of a shard that does not exist yet is charged nowhere.
TEST_F(StoreLifetimeTest, WhatIsOwedByAMissingShardIsDebitedInOneThatExists) {
  PutHalfABucket();
  client_.latency = milliseconds(300);
  std::optional<Code> code;
  store_->AcquireAndKeep(TakeOf(60), store_->Now(), In(700), [&](const Result<Decision>& decision) {
    if (!decision) code = decision.error().code;
  });
  world_.scheduler.RunAll();
  ASSERT_EQ(code, Code::kDeadlineExceeded) << "the caller admits its request";
  std::int64_t taken = 0;
  for (const std::uint32_t shard : {0U, 1U}) {
    const auto item = world_.Get(kShardKeys.Bucket({"acme", "llm", shard}));
    if (item) taken += GetNumber(*item, "b_rpm_tc").value_or(0);
  }
  EXPECT_EQ(taken, 60'000);
  EXPECT_EQ(store_->forfeits(), 0);
}

// The response of the write that ends the store's work arrives before the request returns.
TEST_F(StoreLifetimeTest, TheStoreMayBeDestroyedInTheCallbackOfClose) {
  ASSERT_TRUE(*Acquire(1));
  client_.loses_next = true;
  Acquire(1, In(5));
  bool is_closed = false;
  store_->Close(kNever, [&](const Status& status) {
    is_closed = status.has_value();
    store_.reset();
  });
  world_.scheduler.RunAll();
  EXPECT_TRUE(is_closed);
  EXPECT_EQ(store_, nullptr);
}

TEST_F(StoreLifetimeTest, TheStoreMayBeDestroyedInACallbackThatRunsWithinTheCall) {
  bool is_completed = false;
  store_->Acquire(TakeOf(1), store_->Now(), kNever, [&](const Result<Decision>& decision) {
    is_completed = decision.has_value();
    store_.reset();
  });
  world_.scheduler.RunAll();
  EXPECT_TRUE(is_completed);
}

TEST_F(StoreLifetimeTest, EachCloseIsAnsweredAfterTheLastCallback) {
  client_.latency = milliseconds(300);
  std::vector<std::string> order;
  store_->Acquire(TakeOf(1), store_->Now(), kNever,
                  [&](const Result<Decision>&) { order.emplace_back("take"); });
  store_->Close(kNever, [&](const Status&) { order.emplace_back("first"); });
  store_->Close(kNever, [&](const Status&) { order.emplace_back("second"); });
  world_.scheduler.RunAll();
  EXPECT_EQ(order, (std::vector<std::string>{"take", "first", "second"}));
  EXPECT_EQ((*Acquire(1))->error().code, Code::kUnavailable);
}

// Fails if: the deadline of one Close ends the others too.
TEST_F(StoreLifetimeTest, EachCloseHasADeadlineOfItsOwn) {
  ASSERT_TRUE(*Acquire(1));
  client_.latency = milliseconds(300);
  Acquire(1);
  std::vector<std::string> order;
  const auto close = [&](const std::string& name, Deadline deadline) {
    store_->Close(deadline, [&order, name](const Status& status) {
      order.push_back(name + (status ? ": closed" : ": late"));
    });
  };
  close("patient", In(1'000));
  close("hasty", In(100));
  world_.scheduler.RunAll();
  EXPECT_EQ(order, (std::vector<std::string>{"hasty: late", "patient: closed"}));
}

// Fails if: the timer of a Close that has ended ends one that was called later.
TEST_F(StoreLifetimeTest, ATimerOfAnEndedCloseEndsNoOther) {
  ASSERT_TRUE(*Acquire(1));
  client_.latency = milliseconds(300);
  Acquire(1);
  std::vector<std::string> order;
  store_->Close(In(100), [&](const Status&) {
    store_->Close(In(1'000),
                  [&](const Status& status) { order.emplace_back(status ? "closed" : "late"); });
  });
  store_->Close(In(200), [](const Status&) {});
  world_.scheduler.RunAll();
  EXPECT_EQ(order, std::vector<std::string>{"closed"});
}

// Fails if: a read uses the store after its destruction. Under asan that is a use after free.
TEST_F(StoreLifetimeTest, TheStoreMayBeDestroyedWhileReadsAreInFlight) {
  PutHalfABucket();
  client_.latency = milliseconds(300);
  int completed = 0;
  const std::vector<BucketKey> keys{{"acme", "llm", 0}};
  for (int i = 0; i < 2; ++i) {
    store_->ReadRecent(keys, kNever, [&](const auto& records) { completed += records ? 1 : 0; });
  }
  store_->List({.entity = "acme"}, {.limit = 10}, kNever,
               [&](const auto& page) { completed += page && page->items.size() == 1 ? 1 : 0; });
  store_.reset();
  world_.scheduler.RunAll();
  EXPECT_EQ(completed, 3);
}

TEST_F(StoreLifetimeTest, ARequestWhoseDeadlineHasPassedIsNotSent) {
  const ResultPtr result = Acquire(1, Deadline::At(world_.scheduler.clock().Now()));
  ASSERT_TRUE(*result);
  EXPECT_EQ((*result)->error().code, Code::kDeadlineExceeded);
  EXPECT_EQ(client_.calls, 0);
}

}  // namespace
}  // namespace weir::dynamo
