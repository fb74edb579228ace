// Processes whose wall clocks are wrong, and clients that write wrong times, on one table.
#include <fmt/chrono.h>
#include <gtest/gtest.h>

#include <ctime>

#include "weir/aws/retrying_client.h"
#include "weir/base/rng.h"
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
    Process(ClockAheadTest& test, std::uint64_t seed, milliseconds ahead, bool has_dates = true)
        : scheduler(test.scheduler_, ahead),
          transport(test.scheduler_,
                    has_dates ? static_cast<sim::SimServer&>(test.dating_) : test.server_, seed),
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
  void Pass(milliseconds time) { scheduler_.Advance(time); }

  bool Takes(Process& process, std::int64_t tokens) {
    const Charge charge{MakeTarget({entity_, "llm", 0}, {limit_}), {tokens * kMillitokens}};
    std::optional<bool> admitted;
    process.store.Acquire(
        {&charge, 1}, process.store.Now(), Deadline::Never(),
        [&](const Result<Decision>& decision) { admitted = decision && decision->admitted; });
    while (!admitted && scheduler_.RunNext()) {
    }
    return admitted.value_or(false);
  }

  milliseconds WaitOf(Process& process, std::int64_t tokens) {
    const Charge charge{MakeTarget({entity_, "llm", 0}, {limit_}), {tokens * kMillitokens}};
    const auto decision = Run<Decision>([&](auto done) {
      process.store.Acquire({&charge, 1}, process.store.Now(), Deadline::Never(), std::move(done));
    });
    EXPECT_FALSE(decision->admitted);
    return decision->retry_after;
  }

  Item ReadBucket() {
    const auto item = Run<std::optional<Item>>(
        [&](auto done) { client_.table.Get(Key(), Deadline::Never(), std::move(done)); });
    return item->value();
  }
  UnixMillis StoredTime() { return {GetNumber(ReadBucket(), "rf").value()}; }

  /// Another client, whose clock is ahead, refills the bucket.
  void RefillAhead(milliseconds ahead) {
    const Item item = ReadBucket();
    const UnixMillis now = scheduler_.clock().WallNow() + ahead;
    const milliseconds elapsed = now - UnixMillis{GetNumber(item, "rf").value()};
    const std::string tokens = LimitAttribute(kRpm.name, "tk");
    Meter meter = FullMeter(kRpm.quota);
    meter.tokens = GetNumber(item, tokens).value();
    Refill(meter, elapsed.count());
    Write write{.key = Key(), .item = {}, .expression = {}};
    write.expression.Set("rf", Of(now.value)).Set(tokens, Of(meter.tokens));
    ASSERT_TRUE(Run<WriteAnswer>([&](auto done) {
      client_.table.Apply(
          write, false, Deadline::Never(),
          [&, done = std::move(done)](auto answer) mutable { done(std::move(*answer)); });
    }));
  }

  /// The response of a request, which meets no fault.
  template <class T, class Start>
  Result<T> Run(Start start) {
    std::optional<Result<T>> result;
    start([&](Result<T> answer) { result = std::move(answer); });
    while (!result && scheduler_.RunNext()) {
    }
    return *std::move(result);
  }

  TableKey Key() const { return kShardKeys.Bucket({entity_, "llm", 0}); }

  std::string entity_ = "acme";
  Limit limit_ = kRpm;
  sim::SimScheduler scheduler_;
  sim::SimDynamo server_{scheduler_.clock(), 1};
  DatingServer dating_{server_, scheduler_.clock()};
  Process client_{*this, 99, milliseconds(0)};
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

// Fails if: a bucket gets no refill until T reaches its time, or its tokens change when it is set
// back, or the time of the mark does not count.
TEST_F(ClockAheadTest, ATimeThatIsFarAheadIsSetBackAfterAMinute) {
  Process right(*this, 1, milliseconds(0));
  ASSERT_TRUE(Takes(right, 100));
  RefillAhead(std::chrono::hours(1));
  Pass(std::chrono::seconds(2));  // refusals by the older image are over
  ASSERT_TRUE(Takes(right, 100)) << "the hour that has not passed fills the bucket once";
  EXPECT_FALSE(Takes(right, 1)) << "from here on the time is known to be ahead";
  Pass(std::chrono::seconds(59));
  EXPECT_FALSE(Takes(right, 1));
  Pass(std::chrono::seconds(3));
  EXPECT_TRUE(Takes(right, 10)) << "the minute has been over for two seconds";
  EXPECT_FALSE(Takes(right, 11));
  EXPECT_FALSE(ReadBucket().contains(kAhead));
}

TEST_F(ClockAheadTest, ARefusalSaysWhenATimeThatIsFarAheadIsSetBack) {
  Process right(*this, 1, milliseconds(0));
  ASSERT_TRUE(Takes(right, 100));
  RefillAhead(std::chrono::hours(1));
  Pass(std::chrono::seconds(2));  // refusals by the older image are over
  ASSERT_TRUE(Takes(right, 100));
  const milliseconds wait = WaitOf(right, 10);
  EXPECT_GE(wait, std::chrono::seconds(60));
  EXPECT_LE(wait, std::chrono::seconds(62));
  Pass(wait);
  EXPECT_TRUE(Takes(right, 10)) << "so long, and no longer";
}

// Fails if: the mark counts though rf has moved since.
TEST_F(ClockAheadTest, ATimeThatAnotherClientKeepsMovingIsNotSetBack) {
  Process right(*this, 1, milliseconds(0));
  std::int64_t taken = 0;
  UnixMillis latest{0};
  const auto drain = [&] {
    while (Takes(right, 10)) taken += 10;
    EXPECT_GE(StoredTime(), latest);
    latest = StoredTime();
  };
  drain();
  for (int i = 0; i < 30; ++i) {
    RefillAhead(std::chrono::hours(1));
    drain();
    Pass(std::chrono::seconds(10));
  }
  EXPECT_LE(taken, 100 + 100 + 10 * 300);
  EXPECT_GE(taken, 10 * 290) << "the other client refills it";
}

// Fails if: a time that only the wall clock knows decides what is ahead.
TEST_F(ClockAheadTest, AProcessThatSeesNoDateSetsNothingBack) {
  limit_.quota.period = 60'000;
  Process right(*this, 1, milliseconds(0));
  Process blind(*this, 2, -std::chrono::hours(1), /*has_dates=*/false);
  std::int64_t taken = 0;
  for (int i = 0; i < 60; ++i) {
    if (i % 10 == 0) {
      while (Takes(right, 5)) taken += 5;
    }
    while (Takes(blind, 5)) taken += 5;
    Pass(std::chrono::seconds(10));
  }
  EXPECT_LE(taken, 100 + 10 * 10);
  EXPECT_GE(taken, 100 + 500 / 6 - 5);
}

// Fails if: a write relies on a refill time that may have been set back since.
TEST_F(ClockAheadTest, AnImageFromBeforeTheSetBackMintsNothing) {
  Process right(*this, 1, milliseconds(0));
  Process idle(*this, 2, milliseconds(0));
  ASSERT_TRUE(Takes(right, 1));
  RefillAhead(std::chrono::hours(1));
  ASSERT_TRUE(Takes(idle, 1));
  Pass(std::chrono::seconds(2));
  EXPECT_FALSE(Takes(right, 100)) << "99 are left, and it is marked";
  Pass(std::chrono::seconds(60));
  EXPECT_FALSE(Takes(right, 100)) << "it is set back";
  EXPECT_LT(StoredTime(), scheduler_.clock().WallNow() + std::chrono::seconds(2));
  Pass(std::chrono::seconds(20));
  EXPECT_TRUE(Takes(idle, 99)) << "the bucket is full";
  EXPECT_FALSE(Takes(right, 2)) << "and then it is empty";
}

// Random refills by a clock that is an hour ahead, and processes that take what they get. Fails
// if: more is admitted than each wrong refill can mint, or nothing a minute after the latest one.
TEST_F(ClockAheadTest, RandomRefillsAheadMintOneCapacityEachAndHoldForAMinute) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    entity_ = fmt::format("of-seed-{}", seed);
    std::vector<std::unique_ptr<Process>> processes;
    for (std::uint64_t i = 0; i < 3; ++i) {
      processes.push_back(std::make_unique<Process>(*this, seed + i, milliseconds(0)));
    }
    Rng rng(seed);
    ASSERT_TRUE(Takes(*processes[0], 1));
    std::int64_t taken = 1;
    std::int64_t refills = 0;
    int idle_seconds = 0;
    const UnixMillis began = scheduler_.clock().WallNow();
    for (int second = 0; second < 600; ++second) {
      Process& process = *processes[rng.Below(3)];
      const auto tokens = static_cast<std::int64_t>(1 + rng.Below(60));
      const bool passes = Takes(process, tokens);
      if (passes) taken += tokens;
      idle_seconds = passes ? 0 : idle_seconds + 1;
      ASSERT_LE(idle_seconds, 60 + 6 + 2) << "after " << second << " s";
      if (rng.Below(150) == 0) {
        RefillAhead(std::chrono::hours(1));
        ++refills;
      }
      Pass(std::chrono::seconds(1));
      const milliseconds elapsed = scheduler_.clock().WallNow() - began;
      ASSERT_LE(taken, 100 * (1 + refills) + 10 * elapsed.count() / 1000 + 1);
    }
  }
}

}  // namespace
}  // namespace weir::dynamo
