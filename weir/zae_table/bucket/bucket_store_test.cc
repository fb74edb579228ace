// The number of requests of a decision, and single cases of two processes on one bucket.
#include "weir/zae_table/bucket/bucket_store.h"

#include <gtest/gtest.h>

#include "weir/zae_table/testing/zae_sim_table.h"

namespace weir::dynamo {
namespace {

constexpr UnixMillis kStart{1'767'225'600'013};
const Limit kTenPerSecond{"rpm", PerSecond(10).Burst(20)};

TargetPtr LlmTarget(const std::string& entity) {
  return MakeTarget({entity, "llm", 0}, {kTenPerSecond});
}

class BucketStoreTest : public testing::Test {
 protected:
  /// A process on the same table.
  struct Process {
    explicit Process(ZaeSimTable& table)
        : store(table.table, Keys("ns"), table.scheduler, {.seed = 3}) {}
    DynamoBucketStore store;
  };

  Decision Ask(Process& process, std::vector<std::string> entities, std::int64_t tokens,
               std::int64_t later = 0) {
    std::vector<Charge> charges;
    for (const std::string& entity : entities)
      charges.push_back({LlmTarget(entity), {tokens * 1000}});
    auto decision = table_.Ask<Decision>([&](Done<Decision> done) {
      process.store.Acquire(charges, kStart + milliseconds(later), Deadline::Never(),
                            std::move(done));
    });
    EXPECT_TRUE(decision.has_value()) << decision.error().message;
    return decision.value_or(Decision{});
  }
  void GiveBack(Process& process, const std::string& entity, std::int64_t tokens) {
    const std::vector<Charge> charges{{LlmTarget(entity), {-tokens * 1000}}};
    const Status done = table_.Ask<void>([&](Done<void> result) {
      process.store.Adjust(charges, AdjustId{7, ++tokens_}, kStart, Deadline::Never(),
                           std::move(result));
    });
    EXPECT_TRUE(done) << done.error().message;
  }

  std::uint64_t Requests(std::string_view operation) {
    return table_.server.counts().Requests(operation);
  }
  /// Returns the number of requests that the server has received since the last call.
  std::uint64_t NewRequests() {
    const std::uint64_t all = table_.server.counts().AllRequests();
    return all - std::exchange(seen_, all);
  }

  ZaeSimTable table_;
  Process process_{table_};
  std::uint64_t seen_ = 0;
  std::uint64_t tokens_ = 0;
};

TEST_F(BucketStoreTest, AWarmDecisionIsOneWriteAndNoRead) {
  EXPECT_TRUE(Ask(process_, {"acme"}, 1).admitted);
  const std::uint64_t updates = Requests("UpdateItem");
  NewRequests();
  EXPECT_TRUE(Ask(process_, {"acme"}, 1, 10).admitted);
  EXPECT_EQ(NewRequests(), 1U);
  EXPECT_EQ(Requests("UpdateItem"), updates + 1);
}

TEST_F(BucketStoreTest, AWarmCascadeIsTwoWritesAtOnce) {
  EXPECT_TRUE(Ask(process_, {"acme", "corp"}, 1).admitted);
  NewRequests();
  EXPECT_TRUE(Ask(process_, {"acme", "corp"}, 1, 10).admitted);
  EXPECT_EQ(NewRequests(), 2U);
  EXPECT_EQ(Requests("UpdateItem"), 2U);
}

TEST_F(BucketStoreTest, FirstContactIsOneReadAndOneWrite) {
  NewRequests();
  EXPECT_TRUE(Ask(process_, {"acme"}, 1).admitted);
  EXPECT_EQ(NewRequests(), 2U) << "a bucket that does not exist";
  Process other(table_);
  EXPECT_TRUE(Ask(other, {"acme"}, 1, 10).admitted);
  EXPECT_EQ(NewRequests(), 2U) << "one that does";
}

TEST_F(BucketStoreTest, ARefusalIsRepeatedWithoutARequestUntilRefillPays) {
  EXPECT_TRUE(Ask(process_, {"acme"}, 20).admitted);
  NewRequests();
  const Decision refusal = Ask(process_, {"acme"}, 1);
  EXPECT_FALSE(refusal.admitted);
  EXPECT_EQ(refusal.retry_after, milliseconds(100));
  EXPECT_FALSE(Ask(process_, {"acme"}, 1, 99).admitted);
  EXPECT_EQ(NewRequests(), 0U);
  EXPECT_TRUE(Ask(process_, {"acme"}, 1, 100).admitted);
  EXPECT_EQ(NewRequests(), 1U);
}

// If two processes both took all of the refill at once, each would fail because of the other's
// write every time. Fails if: a process whose writes fail moves rf for each request.
TEST_F(BucketStoreTest, ACrowdedBucketIsRefilledInFewWrites) {
  Process other(table_);
  EXPECT_TRUE(Ask(process_, {"acme"}, 20).admitted);
  EXPECT_FALSE(Ask(other, {"acme"}, 1).admitted);
  int later = 0;
  int admitted = 0;
  for (int i = 0; i < 40; ++i) {
    table_.scheduler.Advance(std::chrono::milliseconds(100));
    admitted += Ask(other, {"acme"}, 1, later += 100).admitted ? 1 : 0;
    table_.scheduler.Advance(std::chrono::milliseconds(100));
    admitted += Ask(process_, {"acme"}, 1, later += 100).admitted ? 1 : 0;
  }
  EXPECT_GE(admitted, 76) << "of 80 tokens that came back";
  EXPECT_LE(table_.server.counts().failed_conditions, 45U);
  table_.scheduler.Advance(std::chrono::seconds(3));
  NewRequests();
  EXPECT_TRUE(Ask(process_, {"acme"}, 1, later += 3'000).admitted);
  NewRequests();
  EXPECT_TRUE(Ask(process_, {"acme"}, 1, later += 100).admitted);
  EXPECT_EQ(NewRequests(), 1U) << "as if it had always been alone";
}

// Fails if: an add does not require that the capacity cuts off no refill.
TEST_F(BucketStoreTest, AStaleImageDoesNotHideThatAClampIsPending) {
  EXPECT_TRUE(Ask(process_, {"acme"}, 15).admitted);
  Process other(table_);
  EXPECT_TRUE(Ask(other, {"acme"}, 0).admitted);
  GiveBack(other, "acme", 13);
  // A second later the bucket is full. The image of the first process still shows 5 tokens.
  EXPECT_TRUE(Ask(process_, {"acme"}, 2, 1000).admitted);
  EXPECT_FALSE(Ask(process_, {"acme"}, 19, 1000).admitted);
  EXPECT_TRUE(Ask(process_, {"acme"}, 18, 1000).admitted);
}

// The first take leaves rf, and the second one refills. Fails if: one of them does not require that
// the item is not disabled.
TEST_F(BucketStoreTest, ABucketThatIsDisabledMeanwhileIsNotCharged) {
  for (const auto& [entity, later] : {std::pair("acme", 10), std::pair("corp", 5'000)}) {
    EXPECT_TRUE(Ask(process_, {entity}, 1).admitted);
    const TableKey key = Keys("ns").Bucket({entity, "llm", 0});
    Item disabled = table_.Get(key).value_or(Item{});
    disabled.insert_or_assign("disabled", Of(true));
    table_.Put(disabled);
    const std::vector<Charge> charges{{LlmTarget(entity), {1'000}}};
    const auto result = table_.Ask<Decision>([&](Done<Decision> done) {
      process_.store.Acquire(charges, kStart + milliseconds(later), Deadline::Never(),
                             std::move(done));
    });
    ASSERT_FALSE(result.has_value());
    EXPECT_EQ(result.error().code, Code::kFailedPrecondition);
    EXPECT_EQ(table_.Get(key), disabled);
  }
}

TEST_F(BucketStoreTest, WhatIsRefusedHalfWayLeavesNothingTaken) {
  EXPECT_TRUE(Ask(process_, {"acme", "corp"}, 1).admitted);
  Process other(table_);
  EXPECT_TRUE(Ask(other, {"corp"}, 19).admitted);
  // The image of corp is out of date, so acme's token is taken before corp refuses.
  EXPECT_FALSE(Ask(process_, {"acme", "corp"}, 1).admitted);
  EXPECT_TRUE(Ask(process_, {"acme"}, 19).admitted);
}

// Fails if: a decision reports that no token was charged although the return failed.
TEST_F(BucketStoreTest, I15AReturnThatCannotBeSentIsSentAgain) {
  EXPECT_TRUE(Ask(process_, {"acme", "corp"}, 1).admitted);
  Process other(table_);
  EXPECT_TRUE(Ask(other, {"corp"}, 19).admitted);
  // Requests: a take of acme, a refusal of corp, and the return, which fails. Then the call is
  // tried again.
  table_.client.FailFrom(3, DirectClient::Fault::kUnsent);
  int calls = 0;
  table_.client.before_each = [&](const JsonCall&) {
    if (++calls == 4) table_.client.Heal();
  };
  const Decision refused = Ask(process_, {"acme", "corp"}, 1);
  EXPECT_FALSE(refused.admitted);
  EXPECT_FALSE(refused.maybe_charged_twice);
  EXPECT_TRUE(Ask(process_, {"acme"}, 19).admitted) << "nothing is lost";
}

/// Lets `passes` calls through. The others fail at their deadlines, and may have been applied.
class SilentClient final : public JsonClient {
 public:
  SilentClient(JsonClient& client, Scheduler& scheduler) : client_(client), scheduler_(scheduler) {}

  void Call(JsonCall call, Deadline deadline, JsonDone done) override {
    if (passes > 0) {
      --passes;
      return client_.Call(std::move(call), deadline, std::move(done));
    }
    ++silent;
    scheduler_.At(deadline.at(), [done = std::move(done)]() mutable {
      done(tl::unexpected(AwsFailure{.kind = FailureClass::kAmbiguous, .message = "no answer"}));
    });
  }

  int passes = 1000;
  int silent = 0;

 private:
  JsonClient& client_;
  Scheduler& scheduler_;
};

// Tokens of one bucket are given back before the call completes. Fails if: the return has a timeout
// of its own: with one of five seconds, the call completed after six.
TEST_F(BucketStoreTest, ACallThatGivesBackEndsSoonAfterItsDeadline) {
  SilentClient client(table_.client, table_.scheduler);
  Table table(client, table_.scheduler, table_.table.name(), 1, ZaeLayout());
  DynamoBucketStore store(table, Keys("ns"), table_.scheduler, {.seed = 3});
  const std::vector<Charge> charges{{LlmTarget("acme"), {1000}}, {LlmTarget("all"), {1000}}};
  std::vector<std::pair<bool, Instant>> results;
  const auto acquire = [&](Deadline deadline) {
    store.Acquire(charges, kStart, deadline, [&](const Result<Decision>& decision) {
      results.emplace_back(decision.has_value(), table_.scheduler.clock().Now());
    });
  };
  acquire(Deadline::Never());
  table_.scheduler.RunReady();
  ASSERT_EQ(results.size(), 1U);
  EXPECT_TRUE(results[0].first) << "both buckets are there and known";
  client.passes = 1;
  const Instant begin = table_.scheduler.clock().Now();
  acquire(Deadline::At(begin + std::chrono::seconds(1)));
  table_.scheduler.Advance(std::chrono::seconds(60));
  ASSERT_EQ(results.size(), 2U);
  EXPECT_FALSE(results[1].first);
  EXPECT_GE(client.silent, 2) << "a write, and what gives back";
  EXPECT_LE(results[1].second, begin + std::chrono::milliseconds(1250)) << "D11";
}

}  // namespace
}  // namespace weir::dynamo
