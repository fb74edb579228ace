#include "weir/kinesis/reader/read_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <thread>

#include "weir/kinesis/testing/blocking_reader_fixture.h"
#include "weir/sim/immediate_scheduler.h"

namespace weir::kinesis {
namespace {

using testing::ElementsAre;

class ReadStreamTest : public testing::Test {
 protected:
  Status Read(const ReaderOptions& options = {}) {
    StreamReader reader({.name = "s", .arn = {}}, options, 1);
    return ReadStream(reader, {.client = client_,
                               .scheduler = scheduler_,
                               .take =
                                   [this](std::vector<StreamRecord> records) {
                                     for (auto& record : records) taken_.push_back(record.data);
                                     return taken_.size() < enough_;
                                   },
                               .interrupted = [this] { return ++looks_ > max_looks_; }});
  }

  FakeStream stream_;
  sim::SimClock clock_;
  sim::ImmediateScheduler scheduler_{clock_};
  FakeClient client_{stream_, clock_};
  std::vector<std::string> taken_;
  std::size_t enough_ = 1000;
  int looks_ = 0;
  int max_looks_ = 1000;
};

TEST_F(ReadStreamTest, ReadsToTheEnd) {
  for (int i = 0; i < 5; ++i) stream_.Put(0, "k", std::to_string(i));
  EXPECT_TRUE(Read({.page_records = 2}));
  EXPECT_THAT(taken_, ElementsAre("0", "1", "2", "3", "4"));
}

TEST_F(ReadStreamTest, EndsWhenItIsEnough) {
  for (int i = 0; i < 5; ++i) stream_.Put(0, "k", std::to_string(i));
  enough_ = 3;
  EXPECT_TRUE(Read({.page_records = 1}));
  EXPECT_THAT(taken_, ElementsAre("0", "1", "2"));
}

TEST_F(ReadStreamTest, EndsWhenInterrupted) {
  stream_.shards[0];
  max_looks_ = 20;
  EXPECT_TRUE(Read({.from = {Position::At::kLatest}, .follow = true}));
  EXPECT_EQ(looks_, 21);
}

/// Calls another client. Requests for records of shard 1 are held until RespondNow, which makes the
/// call on another thread.
class LateClient final : public JsonClient {
 public:
  explicit LateClient(JsonClient& client) : client_(client) {}
  void Call(JsonCall call, Deadline deadline, JsonDone done) override {
    if (call.body.find("shardId-000000000001/") == std::string::npos) {
      return client_.Call(std::move(call), deadline, std::move(done));
    }
    is_out = true;
    late_ = [this, call = std::move(call), deadline, done = std::move(done)]() mutable {
      is_out = false;
      client_.Call(std::move(call), deadline, std::move(done));
    };
  }
  void RespondNow() { thread_ = std::jthread(std::move(late_)); }

  std::atomic<bool> is_out = false;  ///< reset before the call is made

 private:
  JsonClient& client_;
  std::move_only_function<void()> late_;
  std::jthread thread_;
};

TEST_F(ReadStreamTest, EverythingIsAnsweredWhenItReturns) {
  stream_.Put(0, "k", "a");
  stream_.Put(1, "k", "b");
  LateClient late(client_);
  StreamReader reader({.name = "s", .arn = {}}, {}, 1);
  EXPECT_TRUE(ReadStream(reader, {.client = late,
                                  .scheduler = scheduler_,
                                  .take =
                                      [&](const std::vector<StreamRecord>&) {
                                        EXPECT_TRUE(late.is_out);
                                        late.RespondNow();
                                        return false;
                                      },
                                  .interrupted = [] { return false; }}));
  EXPECT_FALSE(late.is_out);
}

TEST_F(ReadStreamTest, TellsWhyItEnded) {
  stream_.shards[0];
  stream_.faults = 1;
  EXPECT_FALSE(Read({.max_tries = 2}));
}

}  // namespace
}  // namespace weir::kinesis
