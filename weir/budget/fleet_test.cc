// Tests producers on many hosts that share one simulated shard through a store, in simulated time.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "weir/budget/limiter_budget.h"
#include "weir/kinesis/producer.h"
#include "weir/kinesis/testing/sim_client_fixture.h"
#include "weir/sim/faulty_backend.h"
#include "weir/sim/kinesis/sim_kinesis.h"
#include "weir/sim/sim_network.h"
#include "weir/sim/sim_scheduler.h"
#include "weir/store/memory/memory_backend.h"

namespace weir {
namespace {

using kinesis::Producer;
using std::chrono::seconds;

constexpr std::size_t kFleet = 50;
constexpr std::size_t kRate = 1'000;  // of the shard

/// A number of seconds as nanoseconds, to be divided without rounding to whole seconds.
constexpr nanoseconds Evenly(std::int64_t a_second) { return seconds(a_second); }

/// The records that a host puts: one each `every`.
struct Load {
  nanoseconds every;
  std::size_t bytes = 100;
  milliseconds ttl{30'000};
};

/// Three times the records that the shard accepts, from all hosts together.
constexpr Load kThreeTimes{.every = Evenly(kFleet) / (3 * kRate)};

/// A process: a limiter of its own on the shared store, and a producer.
class FleetHost {
 public:
  FleetHost(Backend& store, JsonClient& client, sim::SimScheduler& on, std::uint64_t seed)
      : scheduler_(on),
        limiter_(store, on, {.seed = seed}),
        budget_(limiter_, on.clock(), {}),
        producer_({client, on, &budget_},
                  {.aggregation_enabled = false,
                   .max_outstanding_bytes = std::int64_t{256} << 20,
                   .put_timeout = milliseconds(0)},
                  seed),
        stream_(*producer_.Open({.name = "orders", .arn = ""}).value()) {}

  /// Puts records until the instant `until`.
  void Put(const Load& load, Instant until) {
    const Instant now = scheduler_.clock().Now();
    if (now >= until) return;
    kinesis::Record record{.partition_key = "key", .data = std::string(load.bytes, 'x')};
    record.ttl = load.ttl;
    const Status taken =
        producer_.TryPut(stream_, std::move(record), [this](const kinesis::RecordResult& result) {
          ++results;
          stored += result.stored ? 1 : 0;
        });
    if (taken) ++puts;
    scheduler_.At(now + load.every, [this, load, until] { Put(load, until); });
  }
  void Close() {
    producer_.Close(Deadline::At(scheduler_.clock().Now()), [](const Status&) {});
  }

  std::size_t puts = 0;
  std::size_t results = 0;
  std::size_t stored = 0;

 private:
  sim::SimScheduler& scheduler_;
  Limiter limiter_;
  LimiterBudget budget_;
  Producer producer_;
  Producer::Stream& stream_;
};

class FleetTest : public testing::Test {
 protected:
  FleetTest() {
    server_.CreateStream("orders", 1);
    network_.faults.shortest_trip = milliseconds(1);
    network_.faults.longest_trip = milliseconds(10);
    store_.faults.delay = 1;
    store_.faults.longest_delay = milliseconds(10);
    for (std::size_t i = 0; i < kFleet; ++i) {
      hosts_.push_back(std::make_unique<FleetHost>(store_, client_, scheduler_, i + 1));
    }
  }
  ~FleetTest() override {
    for (const auto& host : hosts_) host->Close();
    scheduler_.Advance(seconds(60));
  }

  /// Starts the hosts first, first + 1, ...; all begin within a second.
  void Put(std::size_t first, std::size_t count, const Load& load, nanoseconds time) {
    for (std::size_t i = first; i < first + count; ++i) {
      FleetHost& host = *hosts_[i];
      const Instant until = Now() + time;
      scheduler_.At(Now() + i * milliseconds(7), [&host, load, until] { host.Put(load, until); });
    }
  }
  Instant Now() const { return scheduler_.clock().Now(); }
  std::size_t Stored() const { return server_.counts().stored; }
  /// Advances the time, and returns the number of records that the shard stored meanwhile.
  std::size_t StoredIn(nanoseconds time) {
    const std::size_t before = Stored();
    scheduler_.Advance(time);
    return Stored() - before;
  }
  std::vector<std::size_t> StoredByHost() const {
    std::vector<std::size_t> stored;
    for (const auto& host : hosts_) stored.push_back(host->stored);
    return stored;
  }
  /// Advances the time, and returns the number of records that each host stored meanwhile.
  std::vector<std::size_t> SharesIn(nanoseconds time) {
    const std::vector<std::size_t> before = StoredByHost();
    scheduler_.Advance(time);
    std::vector<std::size_t> shares = StoredByHost();
    for (std::size_t i = 0; i < shares.size(); ++i) shares[i] -= before[i];
    return shares;
  }
  void Report(const std::string& name) const {
    const auto& counts = server_.counts();
    fmt::print(
        "{}: stored {} refused {} store requests {} ({:.1f} %)\n", name, counts.stored,
        counts.over_limit, store_.counts().calls,
        100.0 * static_cast<double>(store_.counts().calls) / static_cast<double>(counts.stored));
  }

  sim::SimScheduler scheduler_{7};
  sim::SimKinesis server_{scheduler_.clock(), 2};
  sim::SimTransport network_{scheduler_, server_, 3};
  kinesis::SimClient client_{network_, kinesis::WireFormat::kCbor};
  std::unique_ptr<Backend> memory_ = MakeMemoryBackend({}, &scheduler_.clock());
  sim::FaultyBackend store_{*memory_, scheduler_, 4};
  std::vector<std::unique_ptr<FleetHost>> hosts_;
};

// Fails if: a part of the shard is unused, throttles occur, producers call the store for each few
// records, or one of them gets less than a third of its share.
TEST_F(FleetTest, K9FiftyProducersSendWhatTheShardTakesWithFewStoreRequests) {
  Put(0, kFleet, kThreeTimes, seconds(30));
  EXPECT_GE(StoredIn(seconds(5)), kRate * 5 * 85 / 100);
  const std::vector<std::size_t> shares = SharesIn(seconds(20));
  std::size_t stored = 0;
  for (const std::size_t share : shares) stored += share;
  Report("fifty");
  fmt::print("20 s: {} shares {} to {}\n", stored, std::ranges::min(shares),
             std::ranges::max(shares));
  EXPECT_GE(stored, kRate * 20 * 97 / 100);
  EXPECT_GE(std::ranges::min(shares), kRate * 20 / kFleet / 3);
  EXPECT_EQ(server_.counts().over_limit, 0U);
  EXPECT_LE(store_.counts().calls, Stored() * 5 / 100);
}

// Fails if: a request expires before it is granted, because records wait for their whole lifetime.
TEST_F(FleetTest, I14TheShardIsFilledWhenMostRecordsExpire) {
  store_.faults.longest_delay = milliseconds(100);
  Put(0, kFleet, {.every = kThreeTimes.every, .ttl = milliseconds(5'000)}, seconds(40));
  scheduler_.Advance(seconds(15));
  EXPECT_GE(StoredIn(seconds(20)), kRate * 20 * 95 / 100);
  Report("short lives");
  EXPECT_EQ(server_.counts().over_limit, 0U);
}

// Fails if: records are lost while the store is away, or producers return late to the shard's rate.
TEST_F(FleetTest, K9AStoreThatFailsForFiveSecondsLosesNothing) {
  constexpr Load kLasting{.every = kThreeTimes.every, .ttl = seconds(600)};
  Put(0, kFleet, kLasting, seconds(20));
  scheduler_.Advance(seconds(8));
  store_.faults.down = true;
  const std::size_t meanwhile = StoredIn(seconds(5));
  store_.faults.down = false;
  const std::size_t refused_before = server_.counts().over_limit;
  std::vector<std::size_t> back;
  for (int i = 0; i < 6; ++i) back.push_back(StoredIn(milliseconds(1'000)));
  Report("failing");
  fmt::print("while away {}, refused by then {}, after it {} {} {} {} {} {}\n", meanwhile,
             refused_before, back[0], back[1], back[2], back[3], back[4], back[5]);
  EXPECT_GE(meanwhile, kRate * 5 * 80 / 100);
  EXPECT_GE(back[2] + back[3] + back[4] + back[5], 4 * kRate * 90 / 100);
  scheduler_.Advance(seconds(60));
  for (const auto& host : hosts_) {
    EXPECT_EQ(host->results, host->puts);
    EXPECT_EQ(host->stored, host->puts);
  }
}

// Fails if: a producer that is left alone keeps the pace of many.
TEST_F(FleetTest, WhoIsLeftAloneUsesTheShard) {
  Put(1, kFleet - 1, {.every = kThreeTimes.every, .ttl = milliseconds(1'000)}, seconds(12));
  Put(0, 1, {.every = Evenly(1) / (3 * kRate), .ttl = milliseconds(5'000)}, seconds(30));
  scheduler_.Advance(seconds(13));
  scheduler_.Advance(milliseconds(2'500));
  const std::size_t before = hosts_[0]->stored;
  scheduler_.Advance(seconds(5));
  EXPECT_GE(hosts_[0]->stored - before, kRate * 5 * 90 / 100);
  EXPECT_EQ(server_.counts().over_limit, 0U);
}

// Fails if: a busy producer keeps the shard for itself, or throttles occur when others join.
TEST_F(FleetTest, WhoJoinsABusyProducerGetsItsShare) {
  Put(0, 1, {.every = Evenly(1) / (3 * kRate)}, seconds(40));
  scheduler_.Advance(seconds(5));
  EXPECT_GE(hosts_[0]->stored, kRate * 4 * 90 / 100);
  Put(1, kFleet - 1, kThreeTimes, seconds(30));
  scheduler_.Advance(seconds(5));
  const std::vector<std::size_t> shares = SharesIn(seconds(20));
  fmt::print("joined: shares {} to {}, of the first {}\n", std::ranges::min(shares),
             std::ranges::max(shares), shares[0]);
  EXPECT_GE(std::ranges::min(shares), kRate * 20 / kFleet / 2);
  EXPECT_LE(shares[0], kRate * 20 / kFleet * 2);
  EXPECT_EQ(server_.counts().over_limit, 0U);
}

// Fails if: large records, which the byte limit bounds, are paced like many small ones.
TEST_F(FleetTest, AShardThatIsShortOfBytesIsFilledAsWell) {
  constexpr std::size_t kBytes = 50'000;
  constexpr std::size_t kTaken = (std::size_t{1} << 20) / (kBytes + 3);  // records in a second
  Put(0, kFleet, {.every = Evenly(kFleet) / (3 * kTaken), .bytes = kBytes}, seconds(60));
  scheduler_.Advance(seconds(5));
  const std::size_t asked = store_.counts().calls;
  const std::vector<std::size_t> shares = SharesIn(seconds(50));
  std::size_t stored = 0;
  for (const std::size_t share : shares) stored += share;
  fmt::print("bytes: {} of {} shares {} to {} asked {}\n", stored, kTaken * 50,
             std::ranges::min(shares), std::ranges::max(shares), store_.counts().calls - asked);
  EXPECT_GE(stored, kTaken * 50 * 95 / 100);
  EXPECT_GE(std::ranges::min(shares), kTaken * 50 / kFleet / 3);
  EXPECT_EQ(server_.counts().over_limit, 0U);
  EXPECT_LE(store_.counts().calls - asked, kFleet * 50);
}

// Fails if: producers wait for each other although together they use less than the shard accepts.
TEST_F(FleetTest, WithoutAShortageNothingWaits) {
  Put(0, kFleet, {.every = Evenly(kFleet) / (kRate * 6 / 10), .ttl = milliseconds(500)},
      seconds(10));
  scheduler_.Advance(seconds(12));
  Report("no shortage");
  for (const auto& host : hosts_) EXPECT_EQ(host->stored, host->puts);
}

}  // namespace
}  // namespace weir
