// Refused requests store the parameters of their configured limits, so that the bucket refills as
// the wait assumes.
#include <gtest/gtest.h>

#include "weir/zae_table/bucket/bucket_store.h"
#include "weir/zae_table/testing/zae_sim_table.h"

namespace weir::dynamo {
namespace {

using std::chrono::seconds;

constexpr UnixMillis kRepairStart{1'767'225'600'000};
constexpr std::int64_t kMillisOfDay = 86'400'000;
const BucketKey kRepairBucket{"acme", "llm", 0};
const Keys kRepairKeys("ns");

TargetPtr LimitedTo(const Quota& quota, LimitSource source = LimitSource::kConfigured) {
  return MakeTarget(kRepairBucket, {{"rpm", quota}}, source);
}
const Quota kThousandADay{1'000'000, 1'000'000, kMillisOfDay};

class RepairTest : public testing::Test {
 protected:
  struct Process {
    Process(ZaeSimTable& table, std::uint64_t seed)
        : store(table.table, kRepairKeys, table.scheduler, {.seed = seed}) {}
    DynamoBucketStore store;
  };

  Decision Ask(Process& process, const std::vector<Charge>& charges, milliseconds later = {}) {
    auto decision = table_.Ask<Decision>([&](Done<Decision> done) {
      process.store.Acquire(charges, kRepairStart + later, Deadline::Never(), std::move(done));
    });
    EXPECT_TRUE(decision.has_value()) << decision.error().message;
    return decision.value_or(Decision{});
  }
  Decision Ask(Process& process, const TargetPtr& target, std::int64_t tokens,
               milliseconds later = {}) {
    return Ask(process, {{target, {tokens * kMillitokens}}}, later);
  }
  struct DebitTerms {
    bool stores = true;  ///< AdjustTerms::stores_limits
    Instant resolved_at{INT64_MAX};
  };
  bool Debit(const TargetPtr& target, std::int64_t tokens, const DebitTerms& with) {
    AdjustTerms terms = AdjustId{1, ++adjusts_};
    terms.stores_limits = with.stores;
    const std::vector<Charge> charges{
        {.target = target, .amounts = {tokens * kMillitokens}, .resolved_at = with.resolved_at}};
    const Status status = table_.Ask<void>([&](Done<void> done) {
      here_.store.Adjust(charges, terms, kRepairStart, Deadline::Never(), std::move(done));
    });
    EXPECT_TRUE(status.has_value()) << status.error().message;
    return status.has_value();
  }
  /// The request is refused, refused again a millisecond before its wait is over, and admitted
  /// then.
  void ExpectTrueWait(const TargetPtr& target, std::int64_t tokens, milliseconds later) {
    const Decision refused = Ask(here_, target, tokens, later);
    ASSERT_FALSE(refused.admitted);
    const milliseconds wait = refused.retry_after;
    EXPECT_FALSE(Ask(there_, target, tokens, later + wait - milliseconds(1)).admitted);
    EXPECT_TRUE(Ask(there_, target, tokens, later + wait).admitted)
        << wait.count() << " ms were returned";
  }
  std::uint64_t Updates() { return table_.server.counts().Requests("UpdateItem"); }
  std::optional<std::int64_t> Stored(const std::string& name) {
    return GetNumber(table_.Get(kRepairKeys.Bucket(kRepairBucket)).value_or(Item{}), name);
  }

  ZaeSimTable table_;
  Process here_{table_, 3};
  Process there_{table_, 4};
  std::uint64_t adjusts_ = 0;
};

// After six seconds the image of one process shows 800; by the parameters of the other one the
// bucket is full. Fails if: an add does not require the parameters of its image.
TEST_F(RepairTest, AnAddUnderOldParametersMintsNothing) {
  const TargetPtr slow = LimitedTo(PerSecond(50).Burst(1'000));
  const TargetPtr fast = LimitedTo(PerSecond(100).Burst(1'000));
  ASSERT_TRUE(Ask(here_, slow, 500).admitted);
  ASSERT_TRUE(Ask(there_, fast, 1).admitted);
  ASSERT_TRUE(Ask(here_, slow, 200, seconds(6)).admitted);
  EXPECT_FALSE(Ask(there_, fast, 801, seconds(6)).admitted);
  EXPECT_TRUE(Ask(there_, fast, 800, seconds(6)).admitted);
}

// Fails if: a process whose cache is old stores its limits, and undoes those that were set since.
TEST_F(RepairTest, D6LimitsThatWereResolvedBeforeOthersWereSeenAreOutdated) {
  ASSERT_TRUE(Ask(here_, LimitedTo(PerMinute(60)), 1).admitted);
  ASSERT_TRUE(Ask(there_, LimitedTo(PerMinute(30)), 1).admitted);
  table_.scheduler.Advance(milliseconds(1'001));
  Charge old{.target = LimitedTo(PerMinute(60)), .amounts = {kMillitokens}};
  old.resolved_at = table_.scheduler.clock().Now();
  table_.scheduler.Advance(milliseconds(1));
  const Decision outdated = Ask(here_, {old});
  EXPECT_TRUE(outdated.outdated);
  EXPECT_FALSE(outdated.admitted);
  EXPECT_EQ(Stored("b_rpm_cp"), 30'000);
  EXPECT_EQ(Stored("b_rpm_tc"), 2'000);
  old.resolved_at = table_.scheduler.clock().Now();
  EXPECT_TRUE(Ask(here_, {old}).admitted) << "they were resolved again";
  EXPECT_EQ(Stored("b_rpm_cp"), 60'000);
}

// Fails if: a refusal stores nothing, so that the bucket refills at the old rate.
TEST_F(RepairTest, D4ALimitThatIsRaisedRefillsAtItsNewRateFromTheFirstRefusal) {
  ASSERT_TRUE(Ask(here_, LimitedTo(kThousandADay), 1'000).admitted);
  ExpectTrueWait(LimitedTo({1'000'000, 60'000'000, 60'000}), 7, seconds(1));
}

TEST_F(RepairTest, D4ALimitThatIsLoweredRefillsAtItsNewRateFromTheFirstRefusal) {
  ASSERT_TRUE(Ask(here_, LimitedTo(PerMinute(600)), 600).admitted);
  ExpectTrueWait(LimitedTo({600'000, 600'000, kMillisOfDay}), 19, seconds(1));
}

TEST_F(RepairTest, D4WhatIsStoredTakesNothingAndIsStoredOnce) {
  ASSERT_TRUE(Ask(here_, LimitedTo(PerMinute(60)), 60).admitted);
  const std::uint64_t updates = Updates();
  const std::uint64_t calls = table_.client.calls();
  EXPECT_FALSE(Ask(here_, LimitedTo(PerMinute(30)), 1).admitted);
  EXPECT_EQ(Updates(), updates + 1);
  EXPECT_EQ(table_.client.calls(), calls + 1) << "nothing is read";
  EXPECT_EQ(Stored("b_rpm_tk"), -30'000);
  EXPECT_EQ(Stored("b_rpm_tc"), 60'000);
  EXPECT_EQ(Stored("b_rpm_cp"), 30'000);
  const std::uint64_t stored = table_.client.calls();
  EXPECT_FALSE(Ask(here_, LimitedTo(PerMinute(30)), 1, milliseconds(5)).admitted);
  EXPECT_EQ(table_.client.calls(), stored) << "a second refusal has nothing to store";
}

TEST_F(RepairTest, D4ALookAndAnOverrideStoreNothing) {
  ASSERT_TRUE(Ask(here_, LimitedTo(PerMinute(60)), 60).admitted);
  const std::uint64_t updates = Updates();
  EXPECT_FALSE(Ask(here_, LimitedTo(PerMinute(30), LimitSource::kOverride), 1).admitted);
  EXPECT_TRUE(Ask(here_, LimitedTo(PerMinute(30), LimitSource::kOverride), 0).admitted);
  EXPECT_TRUE(Ask(here_, LimitedTo(PerMinute(30)), 0, seconds(32)).admitted) << "2 of 30 are left";
  EXPECT_EQ(Updates(), updates);
  EXPECT_EQ(Stored("b_rpm_cp"), 60'000);
}

// Fails if: a limit that was raised stays at its old rate, as long as callers only look: a look at
// a limit without a token is a refusal for them.
TEST_F(RepairTest, D4ALookAtALimitWithoutATokenStoresTheLimits) {
  const TargetPtr raised = LimitedTo({1'000'000, 60'000'000, 60'000});
  ASSERT_TRUE(Ask(here_, LimitedTo(kThousandADay), 1'000).admitted);
  const std::uint64_t updates = Updates();
  const Decision look = Ask(here_, raised, 0, seconds(1));
  EXPECT_TRUE(look.admitted);
  EXPECT_LT(look.limits.front().available, kMillitokens);
  EXPECT_EQ(Stored("b_rpm_ra"), 60'000'000);
  EXPECT_EQ(Stored("b_rpm_tc"), 1'000'000);
  EXPECT_GE(Ask(there_, raised, 0, seconds(2)).limits.front().available, 1'000 * kMillitokens);
  EXPECT_EQ(Updates(), updates + 1);
}

TEST_F(RepairTest, D4LooksStoreNoLimitsThatAreOlderAndOthersOnceASecond) {
  ASSERT_TRUE(Ask(here_, LimitedTo(PerMinute(60)), 60).admitted);
  Charge old{.target = LimitedTo(PerMinute(90)), .amounts = {0}};
  old.resolved_at = table_.scheduler.clock().Now();
  table_.scheduler.Advance(milliseconds(1));
  Ask(here_, LimitedTo(PerMinute(30)), 0);
  EXPECT_EQ(Stored("b_rpm_cp"), 30'000);
  Ask(here_, LimitedTo(PerMinute(20)), 0);
  EXPECT_EQ(Stored("b_rpm_cp"), 30'000);
  table_.scheduler.Advance(seconds(2));
  EXPECT_TRUE(Ask(here_, {old}).outdated);
  EXPECT_EQ(Stored("b_rpm_cp"), 30'000);
}

// Fails if: a debit stores no limits, so that a bucket that is only looked at and debited keeps its
// old rate.
TEST_F(RepairTest, ADebitThatStoresLimitsStoresThem) {
  ASSERT_TRUE(Ask(here_, LimitedTo(PerMinute(60)), 10).admitted);
  EXPECT_TRUE(Debit(LimitedTo(PerMinute(30)), 5, {.stores = false}));
  EXPECT_EQ(Stored("b_rpm_cp"), 60'000) << "other adjusts change no limits";
  const std::uint64_t updates = Updates();
  EXPECT_TRUE(Debit(LimitedTo(PerMinute(30)), 5, {}));
  EXPECT_EQ(Stored("b_rpm_cp"), 30'000);
  EXPECT_EQ(Stored("b_rpm_tk"), 10'000) << "20 of the 30 are used";
  EXPECT_EQ(Updates(), updates + 2);
  EXPECT_TRUE(Debit(LimitedTo(PerMinute(30)), 5, {}));
  EXPECT_TRUE(Debit(LimitedTo(PerMinute(90), LimitSource::kOverride), 5, {}));
  EXPECT_EQ(Updates(), updates + 4) << "there is nothing to store";
  EXPECT_EQ(Stored("b_rpm_tc"), 30'000);
}

TEST_F(RepairTest, ADebitStoresNoLimitsThatAreOlder) {
  const Instant before = table_.scheduler.clock().Now();
  table_.scheduler.Advance(milliseconds(1));
  ASSERT_TRUE(Ask(here_, LimitedTo(PerMinute(60)), 10).admitted);
  EXPECT_TRUE(Debit(LimitedTo(PerMinute(30)), 5, {.resolved_at = before}));
  EXPECT_EQ(Stored("b_rpm_cp"), 60'000);
  EXPECT_EQ(Stored("b_rpm_tc"), 15'000);
}

// The second request is the write of the limits.
TEST_F(RepairTest, ADebitWhoseLimitsCannotBeStoredCounts) {
  for (const auto fault : {DirectClient::Fault::kUnsent, DirectClient::Fault::kLostResponse}) {
    table_.scheduler.Advance(seconds(20));
    ASSERT_TRUE(Ask(here_, LimitedTo(PerMinute(60)), 1).admitted);
    const std::int64_t used = *Stored("b_rpm_tc");
    table_.client.FailFrom(2, fault);
    EXPECT_TRUE(Debit(LimitedTo(PerMinute(30)), 5, {}));
    table_.client.Heal();
    EXPECT_EQ(Stored("b_rpm_tc"), used + 5'000);
  }
}

// Fails if: an override that came first determines the rate of a limit that is configured.
TEST_F(RepairTest, D4TheConfiguredParametersHoldFromTheFirstRequestThatNamesThem) {
  const TargetPtr forty = LimitedTo(PerSecond(40), LimitSource::kOverride);
  ASSERT_TRUE(Ask(here_, forty, 40).admitted);
  EXPECT_FALSE(Ask(here_, LimitedTo(PerSecond(20)), 1).admitted);
  EXPECT_FALSE(table_.Get(kRepairKeys.Bucket(kRepairBucket))->contains(std::string(kExtras)));
  EXPECT_FALSE(Ask(here_, forty, 21, seconds(1)).admitted);
  EXPECT_TRUE(Ask(here_, forty, 20, seconds(1)).admitted);
}

// Two processes whose limits differ, because the cache of one is old, do not keep storing theirs.
TEST_F(RepairTest, D4OneProcessStoresParametersOfABucketOnceASecond) {
  ASSERT_TRUE(Ask(here_, LimitedTo(PerMinute(60)), 60).admitted);
  Ask(here_, LimitedTo(PerMinute(50)), 50);
  const std::uint64_t updates = Updates();
  for (int i = 0; i < 10; ++i) {
    EXPECT_FALSE(Ask(here_, LimitedTo(PerMinute(30 + i)), 30).admitted);
  }
  EXPECT_EQ(Updates(), updates);
  table_.scheduler.Advance(milliseconds(1'001));
  EXPECT_FALSE(Ask(here_, LimitedTo(PerMinute(30)), 30).admitted);
  EXPECT_EQ(Updates(), updates + 1);
}

// Fails if: a refusal becomes an error, or never ends, if the parameters cannot be stored.
TEST_F(RepairTest, D4WhereTheyCannotBeStoredItIsRefusedAllTheSame) {
  ASSERT_TRUE(Ask(here_, LimitedTo(PerMinute(60)), 60).admitted);
  for (const auto fault : {DirectClient::Fault::kUnsent, DirectClient::Fault::kLostResponse}) {
    table_.scheduler.Advance(milliseconds(1'001));
    Ask(here_, LimitedTo(PerMinute(60)), 60);  // read again
    table_.client.FailFrom(1, fault);
    const Decision refused = Ask(here_, LimitedTo(PerMinute(30)), 1);
    EXPECT_FALSE(refused.admitted);
    EXPECT_FALSE(refused.contended);
    EXPECT_EQ(refused.retry_after, seconds(62));
    table_.client.Heal();
  }
}

// Between plan and write, another process takes, refills or stores parameters.
TEST_F(RepairTest, D4AWriteOfOthersInBetweenIsNoHindrance) {
  ASSERT_TRUE(Ask(here_, LimitedTo(PerMinute(60)), 60).admitted);
  int changes = 1;
  table_.client.before_each = [&](const JsonCall& call) {
    if (call.operation != "UpdateItem" || changes-- <= 0) return;
    Item item = *table_.Get(kRepairKeys.Bucket(kRepairBucket));
    item.insert_or_assign("rf", Of(kRepairStart.value + 10));
    table_.Put(std::move(item));
  };
  EXPECT_FALSE(Ask(here_, LimitedTo(PerMinute(30)), 1, milliseconds(10)).admitted);
  EXPECT_EQ(Stored("b_rpm_cp"), 30'000);
  EXPECT_EQ(Stored("b_rpm_tk"), -30'000);
}

TEST_F(RepairTest, D4OthersThatAlwaysComeFirstDelayTheRefusalByThreeWritesAtMost) {
  ASSERT_TRUE(Ask(here_, LimitedTo(PerMinute(60)), 60).admitted);
  std::int64_t moves = 0;
  table_.client.before_each = [&](const JsonCall& call) {
    if (call.operation != "UpdateItem") return;
    Item item = *table_.Get(kRepairKeys.Bucket(kRepairBucket));
    item.insert_or_assign("rf", Of(kRepairStart.value + ++moves));
    table_.Put(std::move(item));
  };
  EXPECT_FALSE(Ask(here_, LimitedTo(PerMinute(30)), 1, seconds(1)).admitted);
  EXPECT_EQ(moves, 3);
}

// A refused request takes tokens from none of its buckets, and stores its limits in each of them.
TEST_F(RepairTest, D4EveryBucketOfARefusedRequestGetsItsParametersAndKeepsItsTokens) {
  const auto parent = [](const Quota& quota) {
    return MakeTarget({"team", "llm", 0}, {{"rpm", quota}});
  };
  ASSERT_TRUE(Ask(here_, {{LimitedTo(PerMinute(60)), {60'000}}, {parent(PerMinute(60)), {1'000}}})
                  .admitted);
  EXPECT_FALSE(
      Ask(here_, {{LimitedTo(PerMinute(30)), {1'000}}, {parent(PerMinute(70)), {1'000}}}).admitted);
  const Item item = *table_.Get(kRepairKeys.Bucket({"team", "llm", 0}));
  EXPECT_EQ(GetNumber(item, "b_rpm_cp"), 70'000);
  EXPECT_EQ(GetNumber(item, "b_rpm_tk"), 69'000);
  EXPECT_EQ(Stored("b_rpm_cp"), 30'000);
}

}  // namespace
}  // namespace weir::dynamo
