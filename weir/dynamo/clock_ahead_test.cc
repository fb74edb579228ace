// A process whose wall clock is wrong, and other processes on the same table.
#include <fmt/chrono.h>
#include <gtest/gtest.h>

#include <ctime>

#include "weir/aws/retrying_client.h"
#include "weir/dynamo/bucket_store.h"
#include "weir/dynamo/dynamo_fixture.h"
#include "weir/dynamo/sharding_fixture.h"
#include "weir/dynamo/sim_process_fixture.h"
#include "weir/sim/sim_network.h"

namespace weir::dynamo {
namespace {

constexpr const char* kClockTable = "limits";

/// Puts a Date on each response, as AWS does.
class DatingServer final : public sim::SimServer {
 public:
  DatingServer(sim::SimServer& inner, const Clock& clock) : inner_(inner), clock_(clock) {}
  HttpResponse Handle(const HttpRequest& request) override {
    HttpResponse response = inner_.Handle(request);
    const std::time_t at = clock_.WallNow().value / 1000;
    response.headers.push_back(
        {"date", fmt::format("{:%a, %d %b %Y %H:%M:%S} GMT", fmt::gmtime(at))});
    return response;
  }

 private:
  sim::SimServer& inner_;
  const Clock& clock_;
};

/// A machine whose wall clock is ahead of the others'.
class AheadScheduler final : public Scheduler, private Clock {
 public:
  AheadScheduler(Scheduler& inner, milliseconds ahead) : inner_(inner), ahead_(ahead) {}
  const Clock& clock() const override { return *this; }
  void Post(Task task) override { inner_.Post(std::move(task)); }
  TimerId At(Instant when, Task task) override { return inner_.At(when, std::move(task)); }
  bool Cancel(TimerId id) override { return inner_.Cancel(id); }

 private:
  Instant Now() const override { return inner_.clock().Now(); }
  UnixMillis WallNow() const override { return inner_.clock().WallNow() + ahead_; }
  nanoseconds BootNow() const override { return inner_.clock().BootNow(); }

  Scheduler& inner_;
  const milliseconds ahead_;
};

class ClockAheadTest : public testing::Test {
 protected:
  struct Process {
    Process(ClockAheadTest& test, std::uint64_t seed, milliseconds ahead)
        : scheduler(test.scheduler_, ahead),
          transport(test.scheduler_, test.dating_, seed),
          client(MakeJsonClient({transport, signer, credentials, scheduler},
                                {.target_prefix = "DynamoDB_20120810", .host = "d.test"})),
          table(*client, scheduler, kClockTable, seed),
          store(table, kShardKeys, scheduler, {.seed = seed}) {
      // As opening a table does: its version, and its namespace.
      for (int i = 0; i < 2; ++i) {
        table.Get({"version", "version"}, Deadline::Never(), [](const auto&) {});
        test.scheduler_.RunAll();
      }
    }

    AheadScheduler scheduler;
    sim::SimTransport transport;
    NoSigner signer;
    Anybody credentials;
    std::unique_ptr<JsonClient> client;
    Table table;
    DynamoBucketStore store;
  };

  ClockAheadTest() { CreateTableIn(server_, kClockTable); }

  bool Takes(Process& process, std::int64_t tokens) {
    const Charge charge{MakeTarget({"acme", "llm", 0}, {kRpm}), {tokens * kMillitokens}};
    std::optional<bool> admitted;
    process.store.Acquire(
        {&charge, 1}, process.store.Now(), Deadline::Never(),
        [&](const Result<Decision>& decision) { admitted = decision && decision->admitted; });
    while (!admitted && scheduler_.RunNext()) {
    }
    return admitted.value_or(false);
  }

  sim::SimScheduler scheduler_;
  sim::SimDynamo server_{scheduler_.clock(), 1};
  DatingServer dating_{server_, scheduler_.clock()};
};

// Fails if: the bucket is dated by the clock of the process, so that for all others it is refilled
// only after as long as that clock is ahead.
TEST_F(ClockAheadTest, D13AProcessWhoseClockIsAheadDoesNotStopTheRefill) {
  Process right(*this, 1, milliseconds(0));
  Process ahead(*this, 2, std::chrono::hours(1));
  ASSERT_TRUE(Takes(ahead, 100));
  EXPECT_FALSE(Takes(right, 1));
  scheduler_.Advance(std::chrono::seconds(4));
  EXPECT_TRUE(Takes(right, 10)) << "10 tokens come back each second";
}

// Fails if: a process whose clock is behind finds no refill, or moves the time of the bucket back.
TEST_F(ClockAheadTest, D13AProcessWhoseClockIsBehindGetsItsRefill) {
  Process right(*this, 1, milliseconds(0));
  Process behind(*this, 2, -std::chrono::hours(1));
  ASSERT_TRUE(Takes(right, 100));
  EXPECT_FALSE(Takes(behind, 1));
  scheduler_.Advance(std::chrono::seconds(4));
  EXPECT_TRUE(Takes(behind, 10));
  EXPECT_FALSE(Takes(behind, 100)) << "nor does it get more than the refill";
}

}  // namespace
}  // namespace weir::dynamo
