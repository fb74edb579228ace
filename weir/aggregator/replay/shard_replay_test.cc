// A replay on a simulated table and its stream, after a daemon has counted.
#include "weir/aggregator/replay/shard_replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>

#include "weir/aggregator/testing/change_fixture.h"
#include "weir/aggregator/testing/counted_usage_fixture.h"
#include "weir/dynamodb/streams/lease_table.h"
#include "weir/dynamodb/streams/sequence_number.h"
#include "weir/dynamodb/streams/stream_run.h"
#include "weir/dynamodb/streams/testing/streams_client.h"
#include "weir/sim/dynamodb/streams/dynamo_stream.h"
#include "weir/telemetry/testing/recording_log_fixture.h"
#include "weir/zae_table/testing/zae_sim_table.h"

namespace weir::dynamo {
namespace {

using std::chrono::hours;
using std::chrono::seconds;
using testing::HasSubstr;

/// Fails the first calls.
class FailingStreams final : public JsonClient {
 public:
  explicit FailingStreams(sim::SimServer& server) : client_(server) {}
  void Call(JsonCall call, Deadline deadline, JsonDone done) override {
    if (failures-- <= 0) return client_.Call(std::move(call), deadline, std::move(done));
    done(tl::unexpected(AwsFailure{.kind = FailureClass::kTransient, .message = "no response"}));
  }

  int failures = 0;

 private:
  StreamsClient client_;
};

class ShardReplayTest : public ::testing::Test {
 protected:
  DaemonParts Parts() {
    return {.streams = streams_,
            .table = sim_.table,
            .shard_leases = shard_leases_,
            .scheduler = sim_.scheduler,
            .log = log_};
  }
  /// Runs a daemon for a while, and drains it.
  void CountByDaemon() {
    std::optional<Status> ended;
    AggregateDaemon daemon(Parts(),
                           {.aggregator = {},
                            .lease = {.owner = "weir"},
                            .consumer = {.stream_arn = Arn(), .owner = "one"}},
                           1, [&](const Status& status) { ended = status; });
    sim_.scheduler.Advance(seconds(5));
    daemon.Drain();
    sim_.scheduler.Advance(seconds(5));
    ASSERT_TRUE(ended && *ended);
  }
  std::string Arn() {
    return sim_
        .Ask<std::string>([&](auto done) { FindStream(sim_.table, kNever, std::move(done)); })
        .value();
  }
  Status Replay(const std::string& from, const std::string& to, std::string shard = "") {
    std::optional<Status> ended;
    if (shard.empty()) shard = sim_.server.Stream("limits")->shards().front().id;
    ShardReplay replay(Parts(),
                       {.aggregator = {},
                        .lease = {.owner = "weir"},
                        .stream_arn = Arn(),
                        .range = {.shard = shard, .from = from, .to = to}},
                       1, [&](const Status& status) { ended = status; });
    sim_.scheduler.Advance(seconds(90));
    EXPECT_TRUE(ended);
    stats_ = replay.stats();
    return ended.value_or(Status());
  }
  /// Uses tokens of acme, and returns the number of the record.
  std::string Use(std::int64_t millitokens) {
    used_ += millitokens;
    sim_.Put(BucketItem({"acme", "api", 0}, {{"rpm", used_}}));
    return *NormalizeSequenceNumber(
        sim::ToSequenceText(sim_.server.Table("limits")->stream().size()));
  }
  std::int64_t Counted() { return CountedUsage(sim_); }
  void DeleteUsage() {
    for (const TableKey& key : sim_.AllKeys()) {
      if (!key.sk.starts_with("#USAGE#")) continue;
      const Write write{.kind = Write::Kind::kDelete, .key = key, .item = {}, .expression = {}};
      sim_.table.Apply(write, false, kNever, [](const auto&) {});
    }
  }

  ZaeSimTable sim_;
  SimTable lease_items_{PlainLayout()};
  LeaseTable shard_leases_{lease_items_.table, "leases"};
  FailingStreams streams_{sim_.server};
  RecordingLog log_;
  AggregateStats stats_;
  std::int64_t used_ = 0;
};

// Fails if: a change is counted again, or usage that was deleted is not counted.
TEST_F(ShardReplayTest, DeletedUsageIsCountedAgainAndOnlyOnce) {
  const std::string first = Use(3'000);
  for (int i = 0; i < 20; ++i) Use(500);
  const std::string last = Use(1'000);
  CountByDaemon();
  ASSERT_EQ(Counted(), 14);
  ASSERT_TRUE(Replay(first, last));
  EXPECT_EQ(Counted(), 14) << "all of it is counted";
  EXPECT_EQ(stats_.records, 22U);
  EXPECT_EQ(stats_.updates, 0U);
  DeleteUsage();
  ASSERT_TRUE(Replay(first, last));
  EXPECT_EQ(Counted(), 14);
  ASSERT_TRUE(Replay(first, last));
  EXPECT_EQ(Counted(), 14);
}

TEST_F(ShardReplayTest, RecordsOutsideOfTheRangeAreLeft) {
  Use(1'000);
  const std::string from = Use(2'000);
  const std::string to = Use(4'000);
  Use(8'000);
  CountByDaemon();
  DeleteUsage();
  ASSERT_TRUE(Replay(from, to));
  EXPECT_EQ(Counted(), 6);
  EXPECT_EQ(stats_.records, 2U);
}

// Fails if: the watermarks pass changes that the daemon has not counted.
TEST_F(ShardReplayTest, ARangeThatWasNotReadYetIsRefused) {
  Use(1'000);
  CountByDaemon();
  Use(2'000);
  const std::string last = Use(4'000);
  const Status refused = Replay(last, last);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(refused.error().message, HasSubstr("was read up to"));
  EXPECT_EQ(Counted(), 1);
  CountByDaemon();
  EXPECT_EQ(Counted(), 7);
}

TEST_F(ShardReplayTest, AShardThatIsNotKnownIsRefused) {
  const std::string first = Use(1'000);
  CountByDaemon();
  const Status refused = Replay(first, first, "shardId-none");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kNotFound);
  EXPECT_THAT(refused.error().message, HasSubstr("'shardId-none'"));
  EXPECT_THAT(refused.error().message, HasSubstr("known are: shardId-0"));
}

TEST_F(ShardReplayTest, ARangeThatEndsBeforeItBeginsIsRefused) {
  const std::string first = Use(1'000);
  const std::string last = Use(1'000);
  CountByDaemon();
  EXPECT_EQ(Replay(last, first).error().code, Code::kInvalidArgument);
}

// Fails if: a typing error looks like a range in which everything is counted.
TEST_F(ShardReplayTest, ABeginningThatIsNoRecordOfTheShardIsRefused) {
  Use(1'000);
  const std::string last = Use(1'000);
  CountByDaemon();
  for (const std::string& to : {std::string("1"), last}) {
    const Status refused = Replay("1", to);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
    EXPECT_THAT(refused.error().message, HasSubstr("has no record 1"));
  }
}

TEST_F(ShardReplayTest, ABeginningAfterTheLastRecordOfTheShardIsRefused) {
  Use(1'000);
  const std::string shard = sim_.server.Stream("limits")->shards().front().id;
  CountByDaemon();
  sim_.server.ReplaceShard("limits", 0, false);
  Use(1'000);
  const std::string last = Use(1'000);
  CountByDaemon();
  const Status refused = Replay(last, last, shard);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
}

TEST_F(ShardReplayTest, RequestsThatFailAreLogged) {
  const std::string first = Use(1'000);
  CountByDaemon();
  streams_.failures = 2;
  EXPECT_TRUE(Replay(first, first));
  EXPECT_THAT(log_.lines(), testing::Contains(HasSubstr("warning aggregator.requests_failing")));
}

TEST_F(ShardReplayTest, ATrimmedRangeIsRefusedAndCountsNothing) {
  const std::string first = Use(1'000);
  CountByDaemon();
  sim_.scheduler.Advance(hours(30));
  Use(1'000);
  CountByDaemon();
  DeleteUsage();
  const Status refused = Replay(first, first);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kDataLoss) << refused.error().message;
  EXPECT_THAT(refused.error().message, HasSubstr("have left the stream"));
  EXPECT_EQ(Counted(), 0);
}

TEST_F(ShardReplayTest, AnotherOwnersLeaseIsNotTaken) {
  const std::string first = Use(1'000);
  CountByDaemon();
  std::optional<Status> ended;
  AggregateDaemon lambda(Parts(),
                         {.aggregator = {},
                          .lease = {.owner = "lambda", .takes_over = true},
                          .consumer = {.stream_arn = Arn(), .owner = "two"}},
                         1, [&](const Status& status) { ended = status; });
  sim_.scheduler.Advance(seconds(5));
  const Status refused = Replay(first, first);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(refused.error().message, HasSubstr("counted by 'lambda'"));
  lambda.Drain();
  sim_.scheduler.Advance(seconds(60));
  EXPECT_TRUE(ended);
}

}  // namespace
}  // namespace weir::dynamo
