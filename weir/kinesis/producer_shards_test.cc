// Tests of a producer on simulated streams of several shards, which enforce limits as the service
// does.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <string>
#include <utility>

#include "weir/kinesis/producer.h"
#include "weir/kinesis/testing/sim_client_fixture.h"
#include "weir/sim/kinesis/kinesis_stream.h"
#include "weir/sim/kinesis/sim_kinesis.h"
#include "weir/sim/sim_scheduler.h"

namespace weir::kinesis {
namespace {

using std::chrono::seconds;

/// A producer that sends up to 100 KB per second to each shard.
class ProducerShards : public testing::Test {
 protected:
  explicit ProducerShards(std::uint64_t shards = 10) {
    server_.CreateStream("s", shards);
    network_.faults.shortest_trip = milliseconds(1);
    network_.faults.longest_trip = milliseconds(10);
  }
  ~ProducerShards() override {
    if (!producer_) return;
    producer_->Close(Deadline::At(Now()), [](const Status&) {});
    scheduler_.Advance(seconds(60));
  }

  Producer::Stream& Make(ProducerConfig config) {
    config.shard_records_per_second = 100;
    config.shard_bytes_per_second = 100'000;
    producer_.emplace(ProducerParts{client_, scheduler_}, config, 4);
    return **producer_->Open({.name = "s", .arn = {}});
  }
  Instant Now() const { return scheduler_.clock().Now(); }
  /// Returns a hash key that this shard of the stream holds.
  std::string KeyOf(std::size_t shard) const {
    return FormatHashKey(sim::MiddleOf(server_.Stream("s")->shards()[shard].range));
  }

  sim::SimScheduler scheduler_{1};
  sim::SimKinesis server_{scheduler_.clock(), 2};
  sim::SimTransport network_{scheduler_, server_, 3};
  SimClient client_{network_, WireFormat::kCbor};
  std::optional<Producer> producer_;
};

constexpr std::size_t kShards = 10;
constexpr std::size_t kHotShard = 3;
/// The number of records of 1,000 bytes that one shard takes in a second.
constexpr std::size_t kShardRate = 95;

/// One caller for each shard, which puts its records in their order and waits for space up to its
/// timeout, as Put does.
class HotShard : public ProducerShards, public testing::WithParamInterface<milliseconds> {
 protected:
  struct Caller {
    std::size_t demand = 0;
    std::size_t taken = 0;
    std::size_t stored = 0;
    std::size_t due = 0;  ///< records that it has not put yet
    Instant waits_since;
  };

  /// Puts records for `time`: the hot shard has three times the demand of its rate, each other
  /// shard 60 % of its rate.
  void Run(Producer::Stream& stream, seconds time) {
    for (std::size_t step = 0; step < static_cast<std::size_t>(time.count()) * 100; ++step) {
      for (std::size_t shard = 0; shard < kShards; ++shard) {
        const bool puts = (step + shard) % 10 < 6;
        Demand(stream, shard, shard == kHotShard ? 3 : puts ? 1 : 0);
      }
      scheduler_.Advance(milliseconds(10));
    }
    scheduler_.Advance(seconds(2));
  }
  void Demand(Producer::Stream& stream, std::size_t shard, std::size_t records) {
    Caller& caller = callers_[shard];
    if (caller.due == 0) caller.waits_since = Now();
    caller.demand += records;
    caller.due += records;
    while (caller.due > 0) {
      const bool taken = Put(stream, shard);
      if (!taken && Now() - caller.waits_since < GetParam()) return;
      --caller.due;
      caller.waits_since = Now();
    }
  }
  bool Put(Producer::Stream& stream, std::size_t shard) {
    Record record{.partition_key = fmt::format("key{}", shard), .data = std::string(1'000, 'x')};
    record.explicit_hash_key = KeyOf(shard);
    const Status put =
        producer_->TryPut(stream, std::move(record), [this, shard](const RecordResult& result) {
          if (result.stored) ++callers_[shard].stored;
        });
    if (put) ++callers_[shard].taken;
    return put.has_value();
  }

  std::array<Caller, kShards> callers_;
};

INSTANTIATE_TEST_SUITE_P(Patience, HotShard, testing::Values(milliseconds(0), milliseconds(1'000)));

// Fails if: the records of the hot shard fill the space of the producer.
TEST_P(HotShard, TheOtherShardsOfItsStreamHaveTheirDemand) {
  Producer::Stream& stream = Make({.max_outstanding_records = 2'000});
  Run(stream, seconds(40));
  for (std::size_t shard = 0; shard < kShards; ++shard) {
    const Caller& caller = callers_[shard];
    if (shard == kHotShard) {
      EXPECT_GE(caller.stored, 40 * kShardRate * 95 / 100) << "it has its rate";
    } else {
      EXPECT_GE(caller.stored, caller.demand * 95 / 100) << shard;
    }
  }
}

/// A stream that has one shard at first.
class GrowingStream : public ProducerShards {
 protected:
  GrowingStream() : ProducerShards(1) {}

  bool Put(Producer::Stream& stream, std::size_t shard) {
    Record record{.partition_key = "key", .data = "data", .explicit_hash_key = KeyOf(shard)};
    return producer_->TryPut(stream, std::move(record), [](const RecordResult&) {}).has_value();
  }
  std::size_t Fill(Producer::Stream& stream, std::size_t shard) {
    std::size_t taken = 0;
    while (Put(stream, shard)) ++taken;
    return taken;
  }
  void LearnShards(Producer::Stream& stream, std::size_t shard) {
    EXPECT_TRUE(Put(stream, shard));
    scheduler_.Advance(seconds(5));
    EXPECT_EQ(producer_->pending(), 0U);
  }
};

// Fails if: the parts of the space are those of the first listing; a record that is put before a
// listing returns its space to another tenant than the one that it took it from.
TEST_F(GrowingStream, EachShardHasItsPartOfTheRoomAsTheStreamIsResharded) {
  Producer::Stream& stream = Make({.max_outstanding_records = 80});
  EXPECT_EQ(Fill(stream, 0), 80U) << "its shards are not known yet";
  scheduler_.Advance(seconds(5));
  EXPECT_EQ(producer_->pending(), 0U);
  EXPECT_EQ(Fill(stream, 0), 80U) << "the only shard has all of the room";
  server_.Split("s", 0);
  scheduler_.Advance(seconds(5));
  LearnShards(stream, 1);
  EXPECT_EQ(Fill(stream, 1), 40U) << "half of it";
  EXPECT_EQ(Fill(stream, 2), 20U) << "half of the rest";
  server_.Merge("s", 1, 2);
  scheduler_.Advance(seconds(5));
  LearnShards(stream, 3);
  EXPECT_EQ(producer_->pending_bytes(), 0U);
  EXPECT_EQ(Fill(stream, 3), 80U);
  scheduler_.Advance(seconds(5));
}

}  // namespace
}  // namespace weir::kinesis
