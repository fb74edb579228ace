#include "weir/budget/limiter_budget.h"

#include <gtest/gtest.h>

#include <memory>

#include "weir/limiter/testing/probe_backend.h"
#include "weir/sim/faulty_backend.h"
#include "weir/sim/sim_scheduler.h"
#include "weir/store/memory/memory_backend.h"

namespace weir {
namespace {

using kinesis::BudgetDecision;
using kinesis::BudgetRequest;
using kinesis::ShardId;
using kinesis::StreamAddress;
using std::chrono::seconds;

const StreamAddress kStream{.name = "orders", .arn = ""};

/// A producer's host: a limiter of its own on the shared store.
struct Host {
  Host(Backend& store, sim::SimScheduler& on, std::uint64_t seed)
      : scheduler(on), limiter(store, on, {.seed = seed}), budget(limiter, on.clock(), {}) {}

  /// Requests tokens repeatedly, each time as soon as they may be granted.
  void Demand(ShardId shard, std::size_t records, std::size_t bytes, Instant until) {
    const Instant now = scheduler.clock().Now();
    if (now >= until) return;
    budget.RequestBudget(
        kStream, {shard, records, bytes, now + seconds(1)},
        [this, shard, records, bytes, until](const Result<BudgetDecision>& result) {
          ASSERT_TRUE(result);
          if (result->granted) {
            granted_records += records;
            granted_bytes += bytes;
          }
          const auto wait = std::max<nanoseconds>(result->retry_after, milliseconds(1));
          scheduler.At(scheduler.clock().Now() + wait,
                       [=, this] { Demand(shard, records, bytes, until); });
        });
  }

  sim::SimScheduler& scheduler;
  Limiter limiter;
  LimiterBudget budget;
  std::size_t granted_records = 0;
  std::size_t granted_bytes = 0;
};

class LimiterBudgetTest : public testing::Test {
 protected:
  Instant After(nanoseconds time) { return scheduler_.clock().Now() + time; }

  sim::SimScheduler scheduler_{7};
  std::unique_ptr<Backend> store_ = MakeMemoryBackend({}, &scheduler_.clock());
};

// Fails if: the hosts use separate buckets.
TEST_F(LimiterBudgetTest, HostsTogetherStayWithinTheShard) {
  Host first(*store_, scheduler_, 1);
  Host second(*store_, scheduler_, 2);
  const Instant until = After(seconds(10));
  first.Demand({0}, 50, 1000, until);
  second.Demand({0}, 50, 1000, until);
  scheduler_.Advance(seconds(11));
  const std::size_t records = first.granted_records + second.granted_records;
  EXPECT_LE(records, 11'000U) << "a burst and ten seconds";
  EXPECT_GE(records, 9'500U);
  EXPECT_GT(first.granted_records, 2'000U);
  EXPECT_GT(second.granted_records, 2'000U);
}

TEST_F(LimiterBudgetTest, BytesAreCountedAsWell) {
  Host host(*store_, scheduler_, 1);
  host.Demand({0}, 1, 256 * 1024, After(seconds(10)));
  scheduler_.Advance(seconds(11));
  EXPECT_LE(host.granted_bytes, 11U << 20);
  EXPECT_GE(host.granted_bytes, 9U << 20);
}

TEST_F(LimiterBudgetTest, ShardsAndStreamsHaveBudgetsOfTheirOwn) {
  Host host(*store_, scheduler_, 1);
  int granted = 0;
  const auto count = [&granted](const Result<BudgetDecision>& result) {
    granted += result && result->granted ? 1 : 0;
  };
  const Instant soon = After(milliseconds(1));
  host.budget.RequestBudget(kStream, {{0}, 700, 1, soon}, count);
  host.budget.RequestBudget(kStream, {{1}, 700, 1, soon}, count);
  host.budget.RequestBudget({.name = "other", .arn = ""}, {{0}, 700, 1, soon}, count);
  const std::string arn = "arn:aws:kinesis:eu-west-1:123456789012:stream/orders";
  host.budget.RequestBudget({.name = "", .arn = arn}, {{0}, 700, 1, soon}, count);
  host.budget.RequestBudget(kStream, {{0}, 700, 1, soon}, count);
  scheduler_.Advance(seconds(1));
  EXPECT_EQ(granted, 4) << "the second for the same shard would have to wait too long";
}

TEST_F(LimiterBudgetTest, WhatIsLargerThanTheBurstIsGrantedWhenTheBucketIsFull) {
  Host host(*store_, scheduler_, 1);
  bool granted = false;
  host.budget.RequestBudget(
      kStream, {{0}, 1, std::size_t{8} << 20, After(seconds(5))},
      [&granted](const Result<BudgetDecision>& result) { granted = result && result->granted; });
  scheduler_.Advance(seconds(5));
  EXPECT_TRUE(granted);
}

TEST_F(LimiterBudgetTest, GrantsWhereTheStoreIsAway) {
  sim::FaultyBackend faulty(*store_, scheduler_, 1);
  faulty.faults.down = true;
  Host host(faulty, scheduler_, 1);
  bool granted = false;
  host.budget.RequestBudget(
      kStream, {{0}, 1, 1, After(seconds(5))},
      [&granted](const Result<BudgetDecision>& result) { granted = result && result->granted; });
  scheduler_.Advance(seconds(6));
  EXPECT_TRUE(granted);
}

// Fails if: each request of a producer is a request to the store.
TEST_F(LimiterBudgetTest, K9MostQuestionsAreAnsweredFromTheAllowance) {
  constexpr int kAsks = 5'000;
  Host host(*store_, scheduler_, 1);
  int granted = 0;
  for (int i = 0; i < kAsks; ++i) {
    host.budget.RequestBudget(kStream, {{0}, 1, 100, After(seconds(1))},
                              [&granted](const Result<BudgetDecision>& result) {
                                granted += result && result->granted ? 1 : 0;
                              });
    scheduler_.Advance(milliseconds(2));
  }
  EXPECT_GE(granted, kAsks * 99 / 100);
  EXPECT_LE(host.limiter.stats().store_acquires, kAsks * 5U / 100);
}

// Fails if: producers that want more than the shard has leave a part of it unused, or take more.
TEST_F(LimiterBudgetTest, FiftyWithoutAQueueFillOneShard) {
  constexpr int kHosts = 50;
  constexpr std::int64_t kSeconds = 20;
  std::vector<std::unique_ptr<Host>> hosts;
  const Instant until = After(seconds(kSeconds));
  for (int i = 0; i < kHosts; ++i) {
    hosts.push_back(std::make_unique<Host>(*store_, scheduler_, static_cast<std::uint64_t>(i)));
    for (int k = 0; k < 3; ++k) hosts.back()->Demand({0}, 1, 1000, until);
  }
  scheduler_.Advance(seconds(kSeconds + 1));
  std::size_t granted = 0;
  std::uint64_t asked = 0;
  for (const auto& host : hosts) {
    granted += host->granted_records;
    asked += host->limiter.stats().store_acquires;
  }
  EXPECT_GE(granted, 970 * kSeconds);
  EXPECT_LE(granted, 1000 * kSeconds + 1000);
  EXPECT_LE(asked, granted / 2) << "one in 125 ms for each producer is 0.4 of the records";
}

// Fails if: a damaged store causes a refusal, or its error is lost.
TEST_F(LimiterBudgetTest, K3AnErrorOfTheStoreIsTheAnswer) {
  ProbeBackend damaged(*store_);
  damaged.fail = Error{Code::kDataLoss, "the bucket is damaged"};
  Host host(damaged, scheduler_, 1);
  std::optional<Error> error;
  host.budget.RequestBudget(kStream, {{0}, 1, 1, After(seconds(1))},
                            [&error](const Result<BudgetDecision>& result) {
                              ASSERT_FALSE(result);
                              error = result.error();
                            });
  scheduler_.Advance(seconds(2));
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code, Code::kDataLoss);
}

// Fails if: a bucket that the store divides looks half empty when it is full.
TEST_F(LimiterBudgetTest, I14ThePartsOfADividedBucketAreTakenToBeEquallyFull) {
  ProbeBackend divided(*store_);
  constexpr std::int64_t kWhole = 750'000;
  divided.decide = Decision{
      .admitted = true,
      .limits = {{"kinesis:orders", "kinesis-shard", "records", kWhole, kWhole / 2 - 1'000, 1'000},
                 {"kinesis:orders", "kinesis-shard", "bytes", kWhole, kWhole / 2 - 1'000, 1'000}},
      .of_shards = 2};
  Host host(divided, scheduler_, 1);
  for (const bool is_paced : {false, true}) {
    std::optional<BudgetDecision> told;
    host.budget.RequestBudget(kStream, {{0}, 1, 1, After(seconds(1)), is_paced},
                              [&told](const Result<BudgetDecision>& result) { told = *result; });
    scheduler_.Advance(seconds(1));
    ASSERT_TRUE(told && told->balance);
    EXPECT_GE(told->balance->left.records, told->balance->capacity.records * 95 / 100) << is_paced;
  }
}

/// A producer's gate in front of a budget. Records arrive evenly and live for two seconds.
class GatedHost {
 public:
  GatedHost(Backend& store, sim::SimScheduler& on, std::uint64_t seed)
      : host_(store, on, seed), gate_({}, seed) {}

  /// Puts a record each time `every` has passed, until the instant `until`.
  void Put(Instant until, nanoseconds every = milliseconds(1)) {
    const Instant now = Now();
    if (now >= until) return;
    kinesis::KinesisRecord record{.data = std::string(100, 'x'), .shard = ShardId{0}};
    record.expires = now + seconds(2);
    gate_.Put(std::move(record));
    Go();
    host_.scheduler.At(now + every, [this, until, every] { Put(until, every); });
  }
  std::size_t sent() const { return sent_; }
  std::uint64_t store_requests() const {
    const LimiterStats stats = host_.limiter.stats();
    return stats.store_acquires + stats.store_adjusts + stats.store_config_reads;
  }

 private:
  Instant Now() const { return host_.scheduler.clock().Now(); }
  void Go() {
    std::vector<kinesis::KinesisRecord> expired;
    gate_.TakeExpired(Now(), expired);
    std::vector<BudgetRequest> asks;
    gate_.TakeRequests(Now(), asks);
    for (const BudgetRequest& ask : asks) {
      host_.budget.RequestBudget(kStream, ask, [this](Result<BudgetDecision> result) {
        host_.scheduler.Post([this, result = std::move(result)] {
          std::vector<kinesis::KinesisRecord> granted;
          gate_.OnDecision({0}, result.value_or(BudgetDecision{.granted = true}), Now(), granted);
          sent_ += granted.size();
          Go();
        });
      });
    }
  }

  Host host_;
  kinesis::BudgetGate gate_;
  std::size_t sent_ = 0;
};

// Fails if: producers that want more than the shard has leave a part of it unused, take more, or
// call the store for each few records.
TEST_F(LimiterBudgetTest, K9FiftyProducersFillOneShard) {
  constexpr std::size_t kHosts = 50;
  constexpr std::size_t kSeconds = 20;
  constexpr nanoseconds kEvery = nanoseconds(seconds(kHosts)) / 3'000;
  std::vector<std::unique_ptr<GatedHost>> hosts;
  for (std::size_t i = 0; i < kHosts; ++i) {
    hosts.push_back(std::make_unique<GatedHost>(*store_, scheduler_, i));
    hosts.back()->Put(After(seconds(kSeconds)), kEvery);
  }
  scheduler_.Advance(seconds(kSeconds));
  std::size_t sent = 0;
  std::uint64_t asked = 0;
  for (const auto& host : hosts) {
    sent += host->sent();
    asked += host->store_requests();
    EXPECT_GE(host->sent(), 1000 * kSeconds / kHosts * 4 / 10) << "of its share";
  }
  EXPECT_GE(sent, 950 * kSeconds) << "records live for 2 s only";
  EXPECT_LE(sent, 1000 * kSeconds + 1000);
  EXPECT_LE(asked, sent * 6 / 100) << "with those before the shard is known to be short";
}

// Fails if: a request for records that are about to expire has no time left, so that the store's
// timeout counts as a grant.
TEST_F(LimiterBudgetTest, K3WhatIsAboutToExpireIsNoReasonToGrant) {
  sim::FaultyBackend slow(*store_, scheduler_, 1);
  slow.faults.delay = 1;
  slow.faults.longest_delay = milliseconds(20);
  std::vector<std::unique_ptr<GatedHost>> hosts;
  for (std::uint64_t i = 0; i < 4; ++i) {
    hosts.push_back(std::make_unique<GatedHost>(slow, scheduler_, i));
    hosts.back()->Put(After(seconds(20)));
  }
  scheduler_.Advance(seconds(25));
  std::size_t sent = 0;
  for (const auto& host : hosts) sent += host->sent();
  EXPECT_LE(sent, 23'000U) << "a burst and 22 s";
  EXPECT_GE(sent, 15'000U);
}

}  // namespace
}  // namespace weir
