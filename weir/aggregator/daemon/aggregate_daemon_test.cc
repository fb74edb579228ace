// The daemon on a simulated table and its stream.
#include "weir/aggregator/daemon/aggregate_daemon.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>

#include "weir/aggregator/daemon/aggregate_metrics.h"
#include "weir/aggregator/testing/change_fixture.h"
#include "weir/aggregator/testing/counted_usage_fixture.h"
#include "weir/dynamodb/streams/lease_table.h"
#include "weir/dynamodb/streams/stream_run.h"
#include "weir/dynamodb/streams/testing/streams_client.h"
#include "weir/telemetry/testing/recording_log_fixture.h"
#include "weir/zae_table/records/usage_gap.h"
#include "weir/zae_table/testing/zae_sim_table.h"

namespace weir::dynamo {
namespace {

using std::chrono::seconds;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class AggregateDaemonTest : public ::testing::Test {
 protected:
  struct Daemon {
    std::unique_ptr<AggregateDaemon> daemon;
    std::optional<Status> ended;
  };

  // A daemon must have ended before it is destroyed.
  void TearDown() override {
    sim_.client.refusal.clear();
    for (const auto& running : started_) running->daemon->Drain();
    Advance(seconds(200));
    for (const auto& running : started_) EXPECT_TRUE(running->ended);
  }

  Daemon* Start(const std::string& name, LeaseOptions lease) {
    Daemon* const started = started_.emplace_back(std::make_unique<Daemon>()).get();
    const DaemonParts parts{.streams = streams_,
                            .table = sim_.table,
                            .shard_leases = shard_leases_,
                            .scheduler = sim_.scheduler,
                            .log = log_};
    const std::string arn =
        sim_.Ask<std::string>([&](auto done) { FindStream(sim_.table, kNever, std::move(done)); })
            .value();
    started->daemon = std::make_unique<AggregateDaemon>(
        parts,
        DaemonOptions{.aggregator = {},
                      .lease = std::move(lease),
                      .consumer = {.stream_arn = arn, .owner = name}},
        1, [&ended = started->ended](const Status& status) { ended = status; });
    return started;
  }
  Daemon* Start() { return Start("one", {.owner = "weir"}); }
  /// Starts a daemon that counts a record and then drains, while its positions cannot be stored.
  Daemon* StartDrainThatStoresNothing() {
    Daemon* const running = Start();
    Advance(seconds(3));
    Use(1'000);
    Advance(seconds(3));
    lease_items_.client.refusal = "InternalServerError";
    running->daemon->Drain();
    return running;
  }

  /// Uses tokens of acme on the resource api, as a client of zae-limiter would.
  void Use(std::int64_t millitokens) {
    used_ += millitokens;
    sim_.Put(BucketItem({"acme", "api", 0}, {{"rpm", used_}}));
  }
  std::int64_t Counted() { return CountedUsage(sim_); }
  std::vector<UsageGap> Gaps() {
    return sim_
        .Ask<UsageGaps>([&](auto done) {
          ListGaps(sim_.table, {0}, {4'102'444'800'000}, 100, kNever, std::move(done));
        })
        .value()
        .gaps;
  }
  void DeleteLease(const TableKey& key) {
    const Write write{.kind = Write::Kind::kDelete, .key = key, .item = {}, .expression = {}};
    lease_items_.table.Apply(write, false, kNever, [](const auto&) {});
  }
  void Advance(nanoseconds time) { sim_.scheduler.Advance(time); }

  ZaeSimTable sim_;
  SimTable lease_items_{PlainLayout()};
  LeaseTable shard_leases_{lease_items_.table, "leases"};
  StreamsClient streams_{sim_.server};
  RecordingLog log_;
  std::vector<std::unique_ptr<Daemon>> started_;
  std::int64_t used_ = 0;
};

TEST_F(AggregateDaemonTest, CountsWhileTheTableIsUsedAndContinuesAfterADrain) {
  Use(3'000);
  Daemon* const first = Start();
  Advance(seconds(3));
  EXPECT_EQ(Counted(), 3);
  Use(4'500);
  Advance(seconds(3));
  EXPECT_EQ(Counted(), 7);
  first->daemon->Drain();
  Advance(seconds(3));
  ASSERT_TRUE(first->ended);
  EXPECT_TRUE(*first->ended);
  EXPECT_EQ(first->daemon->stats().updates, 4U) << "two windows, two times";
  Use(500);
  Daemon* const second = Start("two", {.owner = "weir"});
  Advance(seconds(3));
  EXPECT_EQ(Counted(), 8) << "the millitokens of both are added";
  EXPECT_EQ(second->daemon->stats().updates, 2U) << "it continues at the stored position";
}

TEST_F(AggregateDaemonTest, RefusesToCountBesideAnotherAggregator) {
  Daemon* const lambda = Start("one", {.owner = "lambda"});
  Advance(seconds(3));
  Daemon* const refused = Start("two", {.owner = "weir"});
  Advance(seconds(65));  // until the other owner is seen to renew
  ASSERT_TRUE(refused->ended);
  ASSERT_FALSE(*refused->ended);
  EXPECT_EQ(refused->ended->error().code, Code::kFailedPrecondition);
  EXPECT_THAT(refused->ended->error().message, HasSubstr("counted by 'lambda'"));
  EXPECT_FALSE(lambda->ended);
}

TEST_F(AggregateDaemonTest, ATakeOverEndsTheOtherAndNothingIsCountedTwice) {
  Daemon* const old = Start("one", {.owner = "lambda"});
  Use(5'000);
  Advance(seconds(3));
  Daemon* const next = Start("two", {.owner = "weir", .takes_over = true});
  Advance(seconds(60));
  ASSERT_TRUE(old->ended);
  EXPECT_EQ(old->ended->error().code, Code::kAborted);
  EXPECT_THAT(old->ended->error().message, HasSubstr("'weir' has taken over"));
  Use(2'000);
  Advance(seconds(60));
  EXPECT_FALSE(next->ended);
  EXPECT_EQ(Counted(), 7);
}

// Fails if: two processes with the same owner take the lease from each other.
TEST_F(AggregateDaemonTest, ProcessesOfOneOwnerShareTheTable) {
  Daemon* const one = Start("one", {.owner = "weir"});
  Daemon* const two = Start("two", {.owner = "weir"});
  for (int i = 0; i < 30; ++i) {
    Use(1'000);
    Advance(seconds(5));
  }
  EXPECT_FALSE(one->ended);
  EXPECT_FALSE(two->ended);
  EXPECT_EQ(Counted(), 30);
}

TEST_F(AggregateDaemonTest, AFailingTableDelaysTheCountAndLosesNothing) {
  Start();
  Advance(seconds(3));
  Use(1'000);
  sim_.client.refusal = "InternalServerError";
  Advance(seconds(100));
  sim_.client.refusal.clear();
  Advance(seconds(120));
  EXPECT_EQ(Counted(), 1);
  EXPECT_THAT(Gaps(), IsEmpty());
}

// Fails if: a record that can never be applied stops the shard, or is forgotten.
TEST_F(AggregateDaemonTest, ARecordThatCannotBeCountedIsAGapAndTheNextOnesAreCounted) {
  Daemon* const running = Start();
  Use(1'000);
  Item damaged = BucketItem({"acme", "api", 0}, {{"rpm", used_}});
  damaged["b_rpm_tc"] = Of("not a number");
  sim_.Put(std::move(damaged));
  used_ = 1'000;
  sim_.Put(BucketItem({"acme", "api", 0}, {{"rpm", used_}}));
  Use(2'000);
  Advance(seconds(30));
  EXPECT_GT(running->daemon->stats().skipped, 0U);
  ASSERT_FALSE(Gaps().empty());
  EXPECT_FALSE(Gaps()[0].position.empty());
  EXPECT_GE(Counted(), 3);
}

// Fails if: a batch that fails holds its shard while the daemon drains.
TEST_F(AggregateDaemonTest, ADrainWhileABatchFailsEndsAndTheNextDaemonCounts) {
  Daemon* const first = Start();
  Advance(seconds(3));
  Use(1'000);
  sim_.client.refusal = "InternalServerError";
  Advance(seconds(75));
  first->daemon->Drain();
  Advance(seconds(60));
  EXPECT_TRUE(first->ended);
  sim_.client.refusal.clear();
  Start("two", {.owner = "weir"});
  Advance(seconds(120));
  EXPECT_EQ(Counted(), 1);
}

// Fails if: a failure that is not of the record itself loses its usage.
TEST_F(AggregateDaemonTest, AnErrorThatLooksFinalLosesNothing) {
  Start();
  Advance(seconds(3));
  Use(1'000);
  sim_.client.refusal = "KMSInvalidStateException";
  Advance(seconds(60));
  sim_.client.refusal.clear();
  Advance(seconds(120));
  EXPECT_EQ(Counted(), 1);
  EXPECT_THAT(Gaps(), IsEmpty());
}

// Fails if: the lease of an owner that has ended keeps others from counting.
TEST_F(AggregateDaemonTest, ALeaseThatIsNotRenewedIsClaimedWhenItHasRunOut) {
  Daemon* const lambda = Start("one", {.owner = "lambda"});
  Advance(seconds(3));
  lambda->daemon->Drain();
  Advance(seconds(3));
  ASSERT_TRUE(lambda->ended);
  Use(2'000);
  Daemon* const next = Start("two", {.owner = "weir"});
  Advance(seconds(100));
  EXPECT_FALSE(next->ended);
  EXPECT_EQ(Counted(), 2);
}

TEST_F(AggregateDaemonTest, ADrainBeforeTheLeaseIsHeldEndsIt) {
  Daemon* const running = Start();
  sim_.client.refusal = "InternalServerError";
  running->daemon->Drain();
  Advance(seconds(60));
  ASSERT_TRUE(running->ended);
}

TEST_F(AggregateDaemonTest, ADrainThatCannotStoreItsPositionsIsAnError) {
  Daemon* const running = StartDrainThatStoresNothing();
  Advance(seconds(60));
  lease_items_.client.refusal.clear();
  ASSERT_TRUE(running->ended);
  ASSERT_FALSE(*running->ended);
  EXPECT_THAT(running->ended->error().message, HasSubstr("are read again"));
  Start("two", {.owner = "weir"});
  Advance(seconds(60));
  EXPECT_EQ(Counted(), 1) << "a record that is read again is counted once";
}

// Fails if: a second signal has to wait for a drain that cannot end.
TEST_F(AggregateDaemonTest, AStopEndsADrainAtOnce) {
  Daemon* const running = StartDrainThatStoresNothing();
  Advance(seconds(1));
  ASSERT_FALSE(running->ended);
  running->daemon->Stop();
  Advance(seconds(0));
  lease_items_.client.refusal.clear();
  ASSERT_TRUE(running->ended);
  ASSERT_FALSE(*running->ended);
  EXPECT_EQ(running->ended->error().code, Code::kCancelled);
}

TEST_F(AggregateDaemonTest, ADamagedLeaseOfAShardIsLoggedAndCounted) {
  Daemon* const first = Start();
  Advance(seconds(3));
  first->daemon->Drain();
  Advance(seconds(3));
  for (const TableKey& key : lease_items_.AllKeys()) {
    if (key.sk == kInitializedLease) continue;
    Item item = *lease_items_.Get(key);
    item["position"] = Of("elsewhere");
    lease_items_.Put(std::move(item));
  }
  Use(1'000);
  Daemon* const second = Start("two", {.owner = "weir"});
  Advance(seconds(30));
  EXPECT_EQ(second->daemon->stats().damaged_leases, 1U);
  EXPECT_THAT(log_.lines(), Contains(testing::AllOf(HasSubstr("error aggregator.lease_damaged"),
                                                    HasSubstr("delete the item"))));
  EXPECT_EQ(Counted(), 0);
  for (const TableKey& key : lease_items_.AllKeys()) {
    if (key.sk != kInitializedLease) DeleteLease(key);
  }
  Advance(seconds(60));
  EXPECT_EQ(Counted(), 1) << "the item was deleted";
  EXPECT_EQ(second->daemon->stats().damaged_leases, 0U);
}

/// Returns the value of a metric without labels.
std::string ValueOf(const std::string& name, const Registry& registry) {
  const std::string text = registry.Text();
  const std::size_t at = text.find("\n" + name + " ");
  return at == text.npos ? "-1" : text.substr(at + name.size() + 2, 10);
}

// Fails if: the metrics differ from the counters, or the ages from the clock.
TEST_F(AggregateDaemonTest, ItsMetricsAreThoseOfTheRun) {
  Daemon* const running = Start();
  Registry registry;
  ASSERT_TRUE(RegisterMetrics(registry, *running->daemon, sim_.scheduler.clock()));
  EXPECT_THAT(registry.Text(), HasSubstr("weir_aggregator_lease_held 0"));
  EXPECT_THAT(registry.Text(), testing::Not(HasSubstr("\nweir_aggregator_applied_age")));
  Use(3'000);
  Advance(seconds(20));
  EXPECT_THAT(registry.Text(), HasSubstr("weir_aggregator_lease_held 1\n"));
  EXPECT_THAT(registry.Text(), HasSubstr("weir_aggregator_shards 1\n"));
  EXPECT_THAT(registry.Text(), HasSubstr("weir_aggregator_updates_total 2\n"));
  EXPECT_THAT(registry.Text(), HasSubstr("weir_aggregator_waiting_age_seconds 0\n"));
  const double age = std::stod(ValueOf("weir_aggregator_applied_age_seconds", registry));
  EXPECT_GT(age, 0.0);
  EXPECT_LT(age, 12.0) << "a renewal of the lease is a record too";
  Use(1'000);
  sim_.client.refusal = "InternalServerError";
  Advance(seconds(10));
  EXPECT_NEAR(std::stod(ValueOf("weir_aggregator_waiting_age_seconds", registry)), 10, 2);
  sim_.client.refusal.clear();
  Advance(seconds(120));
  EXPECT_THAT(registry.Text(), HasSubstr("weir_aggregator_waiting_age_seconds 0\n"));
}

}  // namespace
}  // namespace weir::dynamo
