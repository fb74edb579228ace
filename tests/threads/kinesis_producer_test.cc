// Many threads on one producer, with real threads below it. No test depends on their speed.
#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <thread>
#include <vector>

#include "weir/kinesis/producer.h"
#include "weir/runtime/loop.h"
#include "weir/runtime/thread_pool.h"

namespace weir::kinesis {
namespace {

constexpr std::string_view kOneShard =
    R"({"Shards":[{"ShardId":"shardId-000000000000","HashKeyRange":{"StartingHashKey":"0",)"
    R"("EndingHashKey":"340282366920938463463374607431768211455"}}]})";

constexpr std::string_view kTwoShards =
    R"({"Shards":[{"ShardId":"shardId-000000000000","HashKeyRange":{"StartingHashKey":"0",)"
    R"("EndingHashKey":"9"}},{"ShardId":"shardId-000000000001","HashKeyRange":)"
    R"({"StartingHashKey":"10","EndingHashKey":"340282366920938463463374607431768211455"}}]})";
constexpr std::string_view kStored = R"({"ShardId":"shardId-000000000000","SequenceNumber":"1"})";
constexpr std::string_view kRefused =
    R"({"ErrorCode":"ProvisionedThroughputExceededException","ErrorMessage":"too much"})";

/// Stores every record except those with the partition key "hot", which it throttles. Completes
/// calls on a thread of its own.
class LoopKinesis final : public JsonClient {
 public:
  explicit LoopKinesis(const Clock& clock, std::string_view shards = kOneShard)
      : shards_(shards), loop_(clock) {}

  void Call(JsonCall call, Deadline, JsonDone done) override {
    loop_.Post([this, call = std::move(call), done = std::move(done)]() mutable {
      done(JsonReply{.body = ResponseTo(call)});
    });
  }

 private:
  std::string ResponseTo(const JsonCall& call) const {
    if (call.operation == "ListShards") return std::string(shards_);
    std::string body = R"({"FailedRecordCount":0,"Records":[)";
    std::string_view between;
    constexpr std::string_view kKey = R"("PartitionKey":")";
    const std::string_view asked = call.body;
    for (auto at = asked.find(kKey); at != std::string_view::npos; at = asked.find(kKey, at + 1)) {
      body += between;
      body += asked.substr(at + kKey.size()).starts_with("hot\"") ? kRefused : kStored;
      between = ",";
    }
    return body + "]}";
  }

  const std::string_view shards_;
  Loop loop_;
};

ProducerConfig Config(std::int64_t max_records) {
  ProducerConfig config;
  config.rate_limit_percent = 10'000;
  config.wire = WireFormat::kJson;
  config.max_outstanding_records = max_records;
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

// Fails if: a caller is blocked because a blocked shard fills the buffer. (The put is then refused
// after put_timeout; nothing else in this test takes that long.)
TEST(ProducerThreads, ACallerDoesNotWaitForTheRoomOfAShardThatIsStuck) {
  const SystemClock clock;
  LoopKinesis kinesis(clock, kTwoShards);
  Loop loop(clock);
  ProducerConfig config = Config(100);
  config.aggregation_enabled = false;
  config.put_timeout = std::chrono::seconds(5);
  Producer producer({kinesis, loop}, config, 1);
  auto& stream = **producer.Open({.name = "a", .arn = ""});
  const Record cold{.partition_key = "cold", .explicit_hash_key = "10"};
  ASSERT_TRUE(producer.PutBlocking(stream, cold)) << "its shards are known";
  const auto stuck = [&] {
    const Record hot{.partition_key = "hot", .explicit_hash_key = "0"};
    const auto is_open = [](const Status& put) {
      return put || put.error().code != Code::kCancelled;
    };
    while (is_open(producer.Put(stream, hot, [](const RecordResult&) {}))) {
    }
  };
  std::jthread thread(stuck);
  while (producer.pending() < 50) std::this_thread::yield();
  std::atomic<int> stored = 0;
  std::atomic<int> results = 0;
  int taken = 0;
  const auto count = [&](const RecordResult& result) {
    stored += result.stored ? 1 : 0;
    ++results;
  };
  while (taken < 1'000 && producer.Put(stream, cold, count)) ++taken;
  while (results < taken) std::this_thread::yield();
  producer.Close(Deadline::After(clock, std::chrono::seconds(0)));
  EXPECT_EQ(taken, 1'000);
  EXPECT_EQ(stored, 1'000);
}

class ProducerCallbackThreads : public testing::Test {
 protected:
  Producer Make(ThreadPool& pool, std::int64_t max_records) {
    return {{.client = kinesis_, .scheduler = loop_, .callbacks = &pool}, Config(max_records), 1};
  }

  const SystemClock clock_;
  LoopKinesis kinesis_{clock_};
  Loop loop_{clock_};
  const Record record_{.partition_key = "k", .data = "d"};
};

// Fails if: a callback that blocks stops the producer, or later callbacks. (The test then does not
// end.)
TEST_F(ProducerCallbackThreads, ASlowCallbackStopsNeitherTheProducerNorOthers) {
  ThreadPool pool(2);
  std::latch others(100);
  std::atomic<bool> slow_has_ended = false;
  {
    Producer producer = Make(pool, 300);
    auto& stream = **producer.Open({.name = "a", .arn = ""});
    ASSERT_TRUE(producer.Put(stream, record_, [&](const RecordResult&) {
      others.wait();
      slow_has_ended = true;
    }));
    for (int i = 0; i < 100; ++i) {
      ASSERT_TRUE(producer.Put(stream, record_, [&](const RecordResult&) { others.count_down(); }));
      if (i % 10 == 0) {
        ASSERT_TRUE(producer.PutBlocking(stream, record_));
      }
    }
    EXPECT_TRUE(producer.Flush(Deadline::Never()));
    EXPECT_TRUE(slow_has_ended);
  }
}

TEST_F(ProducerCallbackThreads, EachRecordOfEachThreadHasOneResult) {
  constexpr int kThreads = 3;
  constexpr int kEach = 400;
  std::atomic<int> taken = 0;
  std::atomic<int> results = 0;
  std::atomic<int> again = 0;
  ThreadPool pool(3);
  {
    Producer producer = Make(pool, 100);
    const auto work = [&](int number) {
      auto& stream = **producer.Open({.name = number % 2 == 0 ? "a" : "b", .arn = ""});
      for (int i = 0; i < kEach; ++i) {
        const Status put = producer.Put(stream, record_, [&](const RecordResult&) {
          ++results;
          // Refused if the buffer is full.
          if (results % 10 == 0 && producer.PutBlocking(stream, record_)) ++again;
        });
        taken += put ? 1 : 0;
        if (i % 100 != 0) continue;
        EXPECT_TRUE(producer.Flush(stream, Deadline::Never()));
        EXPECT_TRUE(producer.Flush(Deadline::Never()));
        EXPECT_GE(producer.oldest_age(), nanoseconds(0));
      }
    };
    std::vector<std::jthread> threads;
    for (int number = 0; number < kThreads; ++number) threads.emplace_back(work, number);
    threads.clear();
    producer.Close(Deadline::Never());
    EXPECT_EQ(results, taken);
    EXPECT_EQ(producer.pending(), 0U);
    EXPECT_EQ(producer.stats().records, static_cast<std::uint64_t>(taken + again));
  }
  EXPECT_EQ(taken, kThreads * kEach);
  EXPECT_EQ(results, taken);
}

// Fails if: the result of PutBlocking needs the thread that waits for it. (The test then does not
// end.)
TEST_F(ProducerCallbackThreads, ABlockingPutWithinACallbackNeedsNoOtherThreadOfThePool) {
  ThreadPool pool(1);
  std::atomic<bool> is_stored = false;
  Producer producer = Make(pool, 300);
  auto& stream = **producer.Open({.name = "a", .arn = ""});
  ASSERT_TRUE(producer.Put(stream, record_, [&](const RecordResult&) {
    const auto again = producer.PutBlocking(stream, record_);
    is_stored = again && again->stored;
  }));
  EXPECT_TRUE(producer.Flush(Deadline::Never()));
  EXPECT_TRUE(is_stored);
}

// Fails if: the destructor treats a producer as ended while one of its callbacks still runs.
TEST_F(ProducerCallbackThreads, TheDestructorWaitsForACallbackThatOutlastsClose) {
  ThreadPool pool(1);
  std::latch began(1);
  std::latch release(1);
  std::atomic<bool> has_ended = false;
  {
    Producer producer = Make(pool, 300);
    auto& stream = **producer.Open({.name = "a", .arn = ""});
    ASSERT_TRUE(producer.Put(stream, record_, [&](const RecordResult&) {
      began.count_down();
      release.wait();
      for (int yields = 0; yields < 1'000; ++yields) std::this_thread::yield();
      has_ended = true;
    }));
    began.wait();
    producer.Close(Deadline::At(clock_.Now()), [](const Status&) {});
    std::latch cut_off(1);
    loop_.Post([&] { cut_off.count_down(); });
    cut_off.wait();
    release.count_down();
  }
  EXPECT_TRUE(has_ended);
}

// Fails if: a callback runs after the producer has been destroyed.
TEST_F(ProducerCallbackThreads, TheDestructorWaitsForCallbacksUnderWay) {
  ThreadPool pool(2);
  for (int round = 0; round < 50; ++round) {
    std::latch began(1);
    std::atomic<int> ended = 0;
    {
      Producer producer = Make(pool, 300);
      auto& stream = **producer.Open({.name = "a", .arn = ""});
      for (int i = 0; i < 5; ++i) {
        ASSERT_TRUE(producer.Put(stream, record_, [&, i](const RecordResult&) {
          if (i == 0) began.count_down();
          for (int yields = 0; yields < 20; ++yields) std::this_thread::yield();
          ++ended;
        }));
      }
      if (round % 2 == 0) began.wait();
    }
    ASSERT_EQ(ended, 5);
  }
}

}  // namespace
}  // namespace weir::kinesis
