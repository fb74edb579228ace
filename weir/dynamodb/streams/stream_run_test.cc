#include "weir/dynamodb/streams/stream_run.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/dynamodb/streams/lease_table.h"
#include "weir/dynamodb/streams/testing/streams_client.h"
#include "weir/dynamodb/testing/sim_table.h"

namespace weir::dynamo {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const TableLayout& LayoutWithStream() {
  static const TableLayout layout = [] {
    TableLayout made = PlainLayout();
    made.stream = "NEW_AND_OLD_IMAGES";
    return made;
  }();
  return layout;
}

struct RunOfOneTable {
  SimTable sim{LayoutWithStream()};
  SimTable lease_items{PlainLayout()};
  LeaseTable leases{lease_items.table, "leases"};
  StreamsClient client{sim.server};
  std::vector<std::int64_t> read;
  std::vector<ConsumerEvent> events;
  std::optional<Status> ended;
  bool completes = true;
  std::vector<std::function<void(bool)>> waiting;

  std::string Arn() {
    return sim.Ask<std::string>([&](auto done) { FindStream(sim.table, kNever, std::move(done)); })
        .value();
  }
  std::unique_ptr<StreamRun> Start(const std::string& owner) {
    StreamHandlers handlers;
    handlers.batch = [this](ChangeBatch batch, std::function<void(bool)> completed) {
      for (const ChangeRecord& record : batch.records) {
        read.push_back(GetNumber(record.new_image, "n").value_or(-1));
      }
      completes ? completed(true) : waiting.push_back(std::move(completed));
    };
    handlers.event = [this](const ConsumerEvent& event) { events.push_back(event); };
    handlers.ended = [this](const Status& status) { ended = status; };
    return std::make_unique<StreamRun>(StreamParts{client, sim.scheduler, leases},
                                       std::move(handlers),
                                       ConsumerOptions{.stream_arn = Arn(), .owner = owner}, 1);
  }
  void Write(int number) { sim.Put({{"PK", Of("a")}, {"SK", Of("b")}, {"n", Of(number)}}); }
};

TEST(StreamRun, ReadsWhileRecordsAreWrittenAndContinuesAfterADrain) {
  RunOfOneTable fixture;
  fixture.Write(1);
  auto run = fixture.Start("first");
  fixture.sim.scheduler.Advance(seconds(2));
  fixture.Write(2);
  fixture.sim.scheduler.Advance(seconds(2));
  EXPECT_THAT(fixture.read, ElementsAre(1, 2));
  run->Drain();
  fixture.sim.scheduler.Advance(seconds(1));
  ASSERT_TRUE(fixture.ended);
  EXPECT_TRUE(*fixture.ended);
  fixture.Write(3);
  fixture.ended.reset();
  run = fixture.Start("second");
  fixture.sim.scheduler.Advance(seconds(2));
  EXPECT_THAT(fixture.read, ElementsAre(1, 2, 3));
  EXPECT_THAT(fixture.events, IsEmpty());
  run->Drain();
  fixture.sim.scheduler.Advance(seconds(1));
  EXPECT_TRUE(fixture.ended);
}

// Fails if: the next batch does not wait for the completion, or a drain does not.
TEST(StreamRun, ADrainWaitsForTheBatchInFlight) {
  RunOfOneTable fixture;
  fixture.completes = false;
  fixture.Write(1);
  const auto run = fixture.Start("first");
  fixture.sim.scheduler.Advance(seconds(2));
  fixture.Write(2);
  fixture.sim.scheduler.Advance(seconds(20));
  EXPECT_THAT(fixture.read, ElementsAre(1));
  run->Drain();
  fixture.sim.scheduler.Advance(seconds(2));
  EXPECT_FALSE(fixture.ended);
  fixture.waiting.at(0)(true);
  fixture.sim.scheduler.Advance(seconds(2));
  EXPECT_TRUE(fixture.ended);
  EXPECT_THAT(fixture.read, ElementsAre(1));
}

// Fails if: a batch that was given up stays in flight, so that a drain never ends.
TEST(StreamRun, ABatchThatIsGivenUpIsReadAgainByTheNextProcess) {
  RunOfOneTable fixture;
  fixture.completes = false;
  fixture.Write(1);
  auto run = fixture.Start("first");
  fixture.sim.scheduler.Advance(seconds(2));
  EXPECT_THAT(fixture.read, ElementsAre(1));
  run->Drain();
  fixture.waiting.at(0)(false);
  fixture.sim.scheduler.Advance(seconds(2));
  ASSERT_TRUE(fixture.ended);
  fixture.ended.reset();
  fixture.completes = true;
  run = fixture.Start("second");
  fixture.sim.scheduler.Advance(seconds(2));
  EXPECT_THAT(fixture.read, ElementsAre(1, 1));
  run->Drain();
  fixture.sim.scheduler.Advance(seconds(1));
  EXPECT_TRUE(fixture.ended);
}

// Fails if: a drain that could not store its positions looks like one that did.
TEST(StreamRun, ADrainThatCannotStoreItsPositionsIsAnErrorThatNamesTheShards) {
  RunOfOneTable fixture;
  const auto run = fixture.Start("first");
  fixture.sim.scheduler.Advance(seconds(2));
  fixture.Write(1);
  fixture.sim.scheduler.Advance(seconds(2));
  fixture.lease_items.client.refusal = "InternalServerError";
  run->Drain();
  fixture.sim.scheduler.Advance(seconds(60));
  ASSERT_TRUE(fixture.ended);
  ASSERT_FALSE(*fixture.ended);
  EXPECT_EQ(fixture.ended->error().code, Code::kUnavailable);
  EXPECT_THAT(fixture.ended->error().message, HasSubstr("positions of shardId"));
}

TEST(StreamRun, AStopDoesNotWaitForTheBatchInFlight) {
  RunOfOneTable fixture;
  fixture.completes = false;
  fixture.Write(1);
  const auto run = fixture.Start("first");
  fixture.sim.scheduler.Advance(seconds(2));
  run->Drain();
  run->Stop();
  fixture.sim.scheduler.Advance(seconds(0));
  ASSERT_TRUE(fixture.ended);
  ASSERT_FALSE(*fixture.ended);
  EXPECT_EQ(fixture.ended->error().code, Code::kCancelled);
}

TEST(StreamRun, AnErrorEndsIt) {
  RunOfOneTable fixture;
  const auto run = fixture.Start("first");
  fixture.sim.server.Handle(
      RequestOf({.operation = "DeleteTable", .body = R"({"TableName":"limits"})"}));
  fixture.sim.scheduler.Advance(seconds(60));
  ASSERT_TRUE(fixture.ended);
  ASSERT_FALSE(*fixture.ended);
  EXPECT_EQ(fixture.ended->error().code, Code::kNotFound);
}

TEST(FindStream, ATableWithoutAStreamIsAnError) {
  SimTable sim(PlainLayout());
  const auto arn =
      sim.Ask<std::string>([&](auto done) { FindStream(sim.table, kNever, std::move(done)); });
  ASSERT_FALSE(arn);
  EXPECT_EQ(arn.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(arn.error().message, HasSubstr("table limits has no stream"));
}

/// Describes the streams of tables as streams of new images alone.
class ClientOfNewImages final : public JsonClient {
 public:
  explicit ClientOfNewImages(JsonClient& inner) : inner_(inner) {}
  void Call(JsonCall call, Deadline deadline, JsonDone done) override {
    inner_.Call(std::move(call), deadline,
                [done = std::move(done)](tl::expected<JsonReply, AwsFailure> reply) mutable {
                  constexpr std::string_view kBoth = "NEW_AND_OLD_IMAGES";
                  if (const auto at = reply->body.find(kBoth); at != std::string::npos) {
                    reply->body.replace(at, kBoth.size(), "NEW_IMAGE");
                  }
                  done(std::move(reply));
                });
  }

 private:
  JsonClient& inner_;
};

// Fails if: a stream without old images is read, so that each of its records is a gap.
TEST(FindStream, AStreamWithoutBothImagesIsAnError) {
  SimTable sim(LayoutWithStream());
  ClientOfNewImages client(sim.client);
  Table table(client, sim.scheduler, "limits", 1, LayoutWithStream());
  const auto arn =
      sim.Ask<std::string>([&](auto done) { FindStream(table, kNever, std::move(done)); });
  ASSERT_FALSE(arn);
  EXPECT_EQ(arn.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(arn.error().message, HasSubstr("view type NEW_IMAGE"));
  EXPECT_THAT(arn.error().message, HasSubstr("NEW_AND_OLD_IMAGES is needed"));
}

}  // namespace
}  // namespace weir::dynamo
