// The stream of a table on a real engine, read while items are written. Run it by
// tests/engines/run.py.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <cstdlib>
#include <future>
#include <map>
#include <mutex>

#include "weir/base/rng.h"
#include "weir/dynamodb/streams/lease_table.h"
#include "weir/dynamodb/streams/stream_run.h"
#include "weir/dynamodb/testing/sim_table.h"
#include "weir/runtime/await.h"

namespace weir::dynamo {
namespace {

using testing::Each;
using testing::IsEmpty;
using testing::Pair;

constexpr std::chrono::seconds kWait{30};
constexpr int kItems = 5;
constexpr int kRounds = 40;

HostEnvironment EngineEnvironment() {
  return {.environment = [](std::string_view name) -> std::optional<std::string> {
            const char* value = std::getenv(std::string(name).c_str());
            return value == nullptr ? std::nullopt : std::optional<std::string>(value);
          },
          .read_file = [](const std::string& path) -> Result<std::string> {
            return Fail(Code::kNotFound, path);
          }};
}

/// Connections to DynamoDB and to DynamoDB Streams of the engine.
struct Engine {
  Engine() {
    const char* endpoint = std::getenv("WEIR_TEST_DYNAMODB");
    if (endpoint == nullptr) std::abort();  // run it by tests/engines/run.py
    ServiceConnectionOptions options;
    options.service = {
        .service = "dynamodb", .region = {}, .endpoint_url = endpoint, .profile = {}};
    options.client.target_prefix = "DynamoDB_20120810";
    tables = ServiceConnection::Open(std::move(options), clock, EngineEnvironment()).value();
    streams = ConnectToStreams("", endpoint, clock, EngineEnvironment()).value();
  }
  template <class T, class Start>
  T Ask(const Start& start) const {
    const Deadline deadline = Deadline::After(clock, kWait);
    auto result = Await<T>([&](Done<T> done) { start(deadline, std::move(done)); });
    EXPECT_TRUE(result) << result.error().message;
    return result.value_or(T{});
  }

  SystemClock clock;
  std::unique_ptr<ServiceConnection> tables;
  std::unique_ptr<ServiceConnection> streams;
};

/// A new table of the engine, with a stream or without.
struct EngineTable {
  EngineTable(Engine& its_engine, std::string name, bool has_stream)
      : engine(its_engine),
        table(engine.tables->client(), engine.tables->scheduler(), std::move(name), SystemSeed(),
              PlainLayout()) {
    TableLayout layout = PlainLayout();
    if (has_stream) layout.stream = "NEW_AND_OLD_IMAGES";
    engine.Ask<std::string>([&](Deadline deadline, auto done) {
      table.Call("CreateTable", CreateTableBody(table.name(), layout), deadline, std::move(done));
    });
  }
  void Put(int item, int value) {
    Item attributes = {{"PK", Of(fmt::format("item{}", item))}, {"SK", Of("s")}, {"n", Of(value)}};
    Write put;
    put.kind = Write::Kind::kPut;
    put.item = std::move(attributes);
    const bool is_written = engine.Ask<bool>([&](Deadline deadline, Done<bool> done) {
      table.Apply(put, true, deadline, [done = std::move(done)](const auto& result) mutable {
        done(result.has_value());
      });
    });
    ASSERT_TRUE(is_written);
  }

  Engine& engine;
  Table table;
};

/// Collects the changes of each item. Thread-safe.
class Changes {
 public:
  void Add(const ChangeBatch& batch) {
    const std::lock_guard lock(mutex_);
    damaged_ += batch.damaged.size();
    for (const ChangeRecord& record : batch.records) {
      const std::string item = *GetText(record.keys, "PK");
      values_[item].push_back(GetNumber(record.new_image, "n").value_or(-1));
      ++count_;
    }
    added_.notify_all();
  }
  /// Blocks until there are this many changes, for kWait at most.
  void AwaitCount(std::size_t count) const {
    std::unique_lock lock(mutex_);
    added_.wait_for(lock, kWait, [&] { return count_ >= count; });
  }
  std::map<std::string, std::vector<std::int64_t>> values() const {
    const std::lock_guard lock(mutex_);
    return values_;
  }
  std::size_t damaged() const {
    const std::lock_guard lock(mutex_);
    return damaged_;
  }

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable added_;
  std::map<std::string, std::vector<std::int64_t>> values_;
  std::size_t count_ = 0;
  std::size_t damaged_ = 0;
};

/// Reads the stream of a table until it is destroyed.
class Reader {
 public:
  Reader(ServiceConnection& streams, LeaseStore& leases, const std::string& arn,
         const std::string& owner, Changes& changes) {
    StreamHandlers handlers;
    handlers.batch = [&changes](const ChangeBatch& batch,
                                const std::function<void(bool)>& completed) {
      changes.Add(batch);
      completed(true);
    };
    handlers.event = [](const ConsumerEvent& event) {
      ADD_FAILURE() << "an event of kind " << event.index();
    };
    handlers.ended = [this](const Status& status) {
      EXPECT_TRUE(status) << status.error().message;
      ended_.set_value();
    };
    run_ = std::make_unique<StreamRun>(
        StreamParts{streams.client(), streams.scheduler(), leases}, std::move(handlers),
        ConsumerOptions{.stream_arn = arn, .owner = owner, .idle_gap = milliseconds(200)},
        SystemSeed());
  }
  ~Reader() {
    run_->Drain();
    EXPECT_EQ(ended_.get_future().wait_for(kWait), std::future_status::ready);
  }

 private:
  std::promise<void> ended_;
  std::unique_ptr<StreamRun> run_;
};

TEST(Streams, EachChangeIsReadOnceAndInOrderAlsoByTwoProcesses) {
  Engine engine;
  EngineTable streamed(engine, "streamed", true);
  EngineTable lease_items(engine, "leases", false);
  const auto arn = engine.Ask<std::string>([&](Deadline deadline, Done<std::string> done) {
    FindStream(streamed.table, deadline, std::move(done));
  });
  LeaseTable leases(lease_items.table, "leases");
  Changes changes;
  std::vector<std::int64_t> expected;
  for (const std::string owner : {"first", "second"}) {
    Reader reader(*engine.streams, leases, arn, owner, changes);
    for (int round = 0; round < kRounds / 2; ++round) {
      const auto value = static_cast<int>(expected.size());
      for (int item = 0; item < kItems; ++item) streamed.Put(item, value);
      expected.push_back(value);
    }
    changes.AwaitCount(expected.size() * kItems);
  }
  EXPECT_EQ(changes.damaged(), 0U);
  EXPECT_EQ(changes.values().size(), std::size_t{kItems});
  EXPECT_THAT(changes.values(), Each(Pair(testing::_, expected)));
}

}  // namespace
}  // namespace weir::dynamo
