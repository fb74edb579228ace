// Many threads on one producer, with real ones below it. Nothing here depends on how fast they are.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "weir/kinesis/producer.h"
#include "weir/runtime/loop.h"

namespace weir::kinesis {
namespace {

constexpr std::string_view kOneShard =
    R"({"Shards":[{"ShardId":"shardId-000000000000","HashKeyRange":{"StartingHashKey":"0",)"
    R"("EndingHashKey":"340282366920938463463374607431768211455"}}]})";

/// Stores everything; answers on a thread of its own.
class LoopKinesis final : public JsonClient {
 public:
  explicit LoopKinesis(const Clock& clock) : loop_(clock) {}

  void Call(JsonCall call, Deadline, JsonDone done) override {
    loop_.Post([call = std::move(call), done = std::move(done)]() mutable {
      done(JsonReply{.body = Answer(call)});
    });
  }

 private:
  static std::string Answer(const JsonCall& call) {
    if (call.operation == "ListShards") return std::string(kOneShard);
    std::string body = R"({"FailedRecordCount":0,"Records":[)";
    std::string_view between;
    const std::string_view asked = call.body;
    for (auto at = asked.find("\"Data\""); at != std::string_view::npos;
         at = asked.find("\"Data\"", at + 1)) {
      body += between;
      body += R"({"ShardId":"shardId-000000000000","SequenceNumber":"1"})";
      between = ",";
    }
    return body + "]}";
  }

  Loop loop_;
};

ProducerConfig Config(std::int64_t most_records) {
  ProducerConfig config;
  config.rate_limit_percent = 10'000;
  config.wire = WireFormat::kJson;
  config.max_outstanding_records = most_records;
  return config;
}

TEST(ProducerThreads, EachRecordOfEachThreadHasOneResult) {
  constexpr int kThreads = 4;
  constexpr int kEach = 2000;
  const SystemClock clock;
  LoopKinesis kinesis(clock);
  Loop loop(clock);
  std::atomic<int> stored = 0;
  std::atomic<int> results = 0;
  std::atomic<int> taken = 0;
  {
    Producer producer({kinesis, loop}, Config(300), 1);
    const auto work = [&](int number) {
      const auto stream = producer.Open({.name = number % 2 == 0 ? "a" : "b", .arn = ""});
      for (int i = 0; i < kEach; ++i) {
        const Status put = producer.Put(**stream, {.partition_key = "k", .data = "d"},
                                        [&](const RecordResult& result) {
                                          ++results;
                                          stored += result.stored ? 1 : 0;
                                        });
        taken += put ? 1 : 0;
        if (i % 500 != 0) continue;
        EXPECT_TRUE(producer.Flush(Deadline::Never()));
      }
      EXPECT_TRUE(producer.PutBlocking(**stream, {.partition_key = "k", .data = "d"}));
    };
    std::vector<std::jthread> threads;
    for (int number = 0; number < kThreads; ++number) threads.emplace_back(work, number);
    threads.clear();
    producer.Close(Deadline::Never());
    EXPECT_EQ(producer.pending(), 0U);
  }
  EXPECT_EQ(taken, kThreads * kEach);
  EXPECT_EQ(results, taken);
  EXPECT_EQ(stored, taken);
}

TEST(ProducerThreads, CloseEndsThoseThatWaitForRoom) {
  const SystemClock clock;
  LoopKinesis kinesis(clock);
  Loop loop(clock);
  Producer producer({kinesis, loop}, Config(1), 1);
  auto& stream = **producer.Open({.name = "a", .arn = ""});
  ASSERT_TRUE(producer.Put(stream, {.partition_key = "k"}, [](const RecordResult&) {}));
  Status waited;
  std::jthread thread(
      [&] { waited = producer.Put(stream, {.partition_key = "k"}, [](const RecordResult&) {}); });
  producer.Close(Deadline::Never());
  thread.join();
  EXPECT_TRUE(waited || waited.error().code == Code::kCancelled);
}

}  // namespace
}  // namespace weir::kinesis
