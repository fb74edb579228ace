#include "apps/weir/commands/kinesis_verbs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "apps/weir/testing/verb_run_fixture.h"
#include "weir/kinesis/testing/blocking_reader_fixture.h"
#include "weir/sim/immediate_scheduler.h"

namespace weir::app {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class KinesisVerbsTest : public testing::Test {
 protected:
  /// Runs `weir kinesis ...` and returns its output on stdout.
  std::string Run(std::vector<std::string> args) {
    out_.str("");
    args.insert(args.begin(), "kinesis");
    const auto with = [this](Context&, const kinesis::ConnectionOptions& options,
                             const KinesisWork& work) {
      connection_ = options;
      return work({*service_, scheduler_, 1});
    };
    const VerbEnd end = RunVerb(process_, std::move(args), [&](CLI::App& app, Action& chosen) {
      AddKinesis(app, chosen, with);
    });
    exit_ = end.exit;
    error_ = end.error;
    return out_.str() + end.result;
  }

  kinesis::FakeStream stream_;
  sim::SimClock clock_;
  sim::ImmediateScheduler scheduler_{clock_};
  kinesis::FakeClient client_{stream_, clock_};
  JsonClient* service_ = &client_;
  kinesis::ConnectionOptions connection_;
  std::istringstream in_;
  std::ostringstream out_, err_;
  int looks_ = 1'000'000;
  ProcessContext process_{.clock = clock_,
                          .scheduler = scheduler_,
                          .in = in_,
                          .out = out_,
                          .err = err_,
                          .environment = [](const std::string&) { return std::nullopt; },
                          .interrupted = [this] { return --looks_ < 0; }};
  Exit exit_ = Exit::kDone;
  std::string error_;
};

TEST_F(KinesisVerbsTest, CatWritesOneRecordALine) {
  stream_.Put(0, "k", "a");
  stream_.Put(0, "k", "b c");
  EXPECT_EQ(Run({"cat", "--stream", "s"}), "a\nb c\n");
  EXPECT_EQ(exit_, Exit::kDone);
}

TEST_F(KinesisVerbsTest, CatEndsAtTheCount) {
  for (int i = 0; i < 9; ++i) stream_.Put(0, "k", std::to_string(i));
  EXPECT_EQ(Run({"cat", "--stream", "s", "--count", "3"}), "0\n1\n2\n");
}

TEST_F(KinesisVerbsTest, CatFromLatestGoesOnUntilInterrupted) {
  stream_.Put(0, "k", "before");
  looks_ = 20;
  EXPECT_EQ(Run({"cat", "--stream", "s", "--from", "latest"}), "");
  EXPECT_EQ(static_cast<int>(exit_), 130) << "Q5";
}

TEST_F(KinesisVerbsTest, CatFromATimeOrASequenceNumber) {
  stream_.Put(0, "k", "a", 1'700'000'000'000);
  stream_.Put(0, "k", "b", 1'700'000'000'001);
  stream_.Put(1, "k", "c", 1'700'000'000'002);
  EXPECT_EQ(Run({"cat", "--stream", "s", "--from", "2023-11-14T22:13:20.001Z"}), "b\nc\n");
  EXPECT_EQ(Run({"cat", "--stream", "s", "--from", "1700000000002"}), "c\n");
  EXPECT_EQ(Run({"cat", "--stream", "s", "--from", "2023-11-14"}), "a\nb\nc\n");
  stream_.shards[0].records[1].sequence_number = "49680454149033407062344657060262";
  EXPECT_EQ(Run({"cat", "--stream", "s", "--shard", "shardId-000000000000", "--from",
                 "49680454149033407062344657060262"}),
            "b\n");
}

TEST_F(KinesisVerbsTest, CatOfOneShard) {
  stream_.Put(0, "k", "a");
  stream_.Put(1, "k", "b");
  EXPECT_EQ(Run({"cat", "--stream", "s", "--shard", "shardId-000000000001"}), "b\n");
  Run({"cat", "--stream", "s", "--shard", "shardId-000000000002"});
  EXPECT_EQ(exit_, Exit::kFailed);
  EXPECT_EQ(error_, "the stream has no shard shardId-000000000002");
}

TEST_F(KinesisVerbsTest, CatFollowsUntilItIsInterruptedOrHasTheCount) {
  stream_.Put(0, "k", "a");
  looks_ = 20;
  EXPECT_EQ(Run({"cat", "--stream", "s", "--follow"}), "a\n");
  EXPECT_EQ(static_cast<int>(exit_), 130);
  looks_ = 1'000'000;
  EXPECT_EQ(Run({"cat", "--stream", "s", "--follow", "--count", "1"}), "a\n");
  EXPECT_EQ(exit_, Exit::kDone);
}

/// A stream whose service fails from one call to another.
class OutageClient final : public JsonClient {
 public:
  OutageClient(JsonClient& client, int first, int last)
      : client_(client), first_(first), last_(last) {}
  void Call(JsonCall call, Deadline deadline, JsonDone done) override {
    const int number = ++calls;
    if (number < first_ || number > last_) {
      return client_.Call(std::move(call), deadline, std::move(done));
    }
    done(tl::unexpected(AwsFailure{.kind = FailureClass::kTransient, .message = "refused\x1b"}));
  }
  int calls = 0;

 private:
  JsonClient& client_;
  const int first_;
  const int last_;
};

// Fails if: an outage of seconds ends a command that follows, or is not reported.
TEST_F(KinesisVerbsTest, CatThatFollowsOutlastsAnOutageAndReportsItsBeginningAndEnd) {
  stream_.Put(0, "k", "a");
  OutageClient outage(client_, 4, 203);
  service_ = &outage;
  looks_ = 1000;
  EXPECT_EQ(Run({"cat", "--stream", "s", "--follow"}), "a\n");
  EXPECT_EQ(static_cast<int>(exit_), 130);
  EXPECT_GT(outage.calls, 203);
  EXPECT_EQ(err_.str(),
            "weir: the stream cannot be read, retrying: refused\\x1b\n"
            "weir: the stream is read again\n");
}

TEST_F(KinesisVerbsTest, CatThatDoesNotFollowEndsWithTheErrorOfAnOutage) {
  stream_.Put(0, "k", "a");
  OutageClient outage(client_, 3, 203);
  service_ = &outage;
  Run({"cat", "--stream", "s"});
  EXPECT_EQ(exit_, Exit::kFailed);
  EXPECT_THAT(error_, HasSubstr("refused"));
  EXPECT_EQ(err_.str(), "");
}

TEST_F(KinesisVerbsTest, CatInJsonTellsWhereEachRecordIs) {
  stream_.Put(0, "k", "a\"");
  stream_.Put(0, "k", "\xff");
  EXPECT_EQ(Run({"cat", "--stream", "s", "--json"}),
            R"({"shard":"shardId-000000000000","sequence_number":"100","sub_sequence_number":0,)"
            R"("partition_key":"k","data":"a\""})"
            "\n"
            R"({"shard":"shardId-000000000000","sequence_number":"101","sub_sequence_number":0,)"
            R"("partition_key":"k","data_base64":"/w=="})"
            "\n");
}

TEST_F(KinesisVerbsTest, CatOfAStreamThatFailsTellsWhy) {
  stream_.shards[0];
  stream_.faults = 1;
  Run({"cat", "--stream", "s"});
  EXPECT_EQ(exit_, Exit::kFailed);
  EXPECT_NE(error_, "");
}

TEST_F(KinesisVerbsTest, TheStreamSaysWhereToConnect) {
  stream_.shards[0];
  const std::string arn = "arn:aws:kinesis:eu-west-1:123456789012:stream/s";
  Run({"cat", "--stream", arn});
  EXPECT_EQ(connection_.region, "eu-west-1");
  EXPECT_EQ(connection_.endpoint_url, "");
  EXPECT_GT(connection_.max_attempts, 1);
  EXPECT_EQ(connection_.content_type, "application/x-amz-json-1.1");
  Run({"cat", "--stream", arn, "--region", "r", "--endpoint", "http://h:1"});
  EXPECT_EQ(connection_.region, "r");
  EXPECT_EQ(connection_.endpoint_url, "http://h:1");
}

TEST_F(KinesisVerbsTest, PutConnectsToCloudWatchWhereItIsAskedTo) {
  std::vector<kinesis::ConnectionOptions> connections;
  const auto with = [&](Context&, const kinesis::ConnectionOptions& options,
                        const KinesisWork& work) -> Result<Exit> {
    connections.push_back(options);
    if (options.service == kinesis::ConnectedService::kCloudWatch) return Exit::kDone;
    return work({client_, scheduler_, 1});
  };
  const VerbEnd end =
      RunVerb(process_,
              {"kinesis", "put", "--stream", "s", "--region", "r-1", "--endpoint", "http://h:1",
               "--cloudwatch"},
              [&](CLI::App& app, Action& chosen) { AddKinesis(app, chosen, with); });
  EXPECT_EQ(end.exit, Exit::kDone) << end.error;
  ASSERT_EQ(connections.size(), 2U);
  EXPECT_EQ(connections[0].endpoint_url, "http://h:1");
  EXPECT_EQ(connections[1].region, "r-1");
  EXPECT_EQ(connections[1].endpoint_url, "")
      << "the endpoint of Kinesis is not used for other services";
  EXPECT_EQ(connections[1].max_attempts, 1);
}

TEST_F(KinesisVerbsTest, ABadStreamOrBeginningIsAUsageError) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> bad = {
      {{"cat"}, "--stream is required"},
      {{"cat", "--stream", "a b"}, "--stream: "},
      {{"cat", "--stream", "s", "--from", "noon"}, "--from: "},
      {{"cat", "--stream", "s", "--count", "0"}, "--count: "},
      {{"cat", "--stream", "s", "--shard", "7"}, "--shard: "},
      {{"cat", "--stream", "s", "--from", "49680454149033407062344657060262"},
       "--from: a sequence number belongs to one shard: name it by --shard"},
      {{"put", "--stream", "s", "--rate-limit", "0"}, "--rate-limit: "},
      {{"put", "--stream", "s", "--key-regex", "("}, "--key-regex: "},
      {{"put", "--stream", "s", "--key", "a", "--key-regex", "b"}, "--key excludes --key-regex"}};
  for (const auto& [args, told] : bad) {
    Run(args);
    EXPECT_EQ(exit_, Exit::kUsage) << told;
    EXPECT_THAT(error_, HasSubstr(told));
  }
}

TEST(ConnectionFor, TheCommandLineCountsBeforeThePropertiesAndThoseBeforeTheArn) {
  StreamOptions stream{.stream = {.name = {}, .arn = "arn:aws:kinesis:arn-1:123456789012:stream/s"},
                       .endpoint = {},
                       .region = {}};
  kinesis::ProducerConfig config;
  EXPECT_EQ(ConnectionFor(stream, config).region, "arn-1");
  config.region = "file-1";
  config.endpoint = "h";
  config.port = 4567;
  config.verify_certificate = false;
  config.max_connections = 3;
  config.request_timeout = milliseconds(700);
  const kinesis::ConnectionOptions options = ConnectionFor(stream, config);
  EXPECT_EQ(options.region, "file-1");
  EXPECT_EQ(options.endpoint_url, "https://h:4567");
  EXPECT_FALSE(options.tls.verify_certificate);
  EXPECT_EQ(options.max_connections, 3U);
  EXPECT_EQ(options.request_timeout, milliseconds(700));
  EXPECT_EQ(options.max_attempts, 1);
  stream.region = "line-1";
  stream.endpoint = "http://x";
  EXPECT_EQ(ConnectionFor(stream, config).region, "line-1");
  EXPECT_EQ(ConnectionFor(stream, config).endpoint_url, "http://x");
}

}  // namespace
}  // namespace weir::app
