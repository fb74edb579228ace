// A model of zae-limiter 0.17.0's aggregator: a function that reads the table's stream, refills
// buckets that are used, doubles the shards of those that are written often, and creates new shards
// as copies of shard 0.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "weir/zae_table/testing/zae_sender_fixture.h"

namespace weir::dynamo {

struct ZaeAggregatorTally {
  int refills = 0;
  int lost_refills = 0;  ///< to another write
  int bumps = 0;
  int clones = 0;
};

/// The fleet must outlive it. Not thread-safe.
class ZaeAggregator {
 public:
  /// Reads the stream every `interval` until `end`.
  ZaeAggregator(Fleet& fleet, std::uint64_t seed, nanoseconds interval, Instant end);
  const ZaeAggregatorTally& tally() const { return tally_; }
  sim::SimTransport& network() { return sender_.network(); }

 private:
  /// The changes of one shard in one batch.
  struct Change {
    const sim::Item* last_image = nullptr;  ///< in the stream
    Item last;                              ///< the same; set when all changes are collected
    std::map<std::string, std::int64_t> consumed;
    std::int64_t shards_before = 0;
  };

  // Reads one batch of the stream, and schedules the next one.
  void Run();
  // Adds a record of the stream to the changes of its shard.
  void Collect(const sim::StreamRecord& record, std::map<std::string, Change>& changes) const;
  // Refills limits that have less than the batch consumed, even when refilled.
  void Refill(const BucketKey& key, const Change& change);
  // Doubles the number of shards if the item is written too often.
  void Double(const BucketKey& key, const Change& change);
  // Stores the number in the other shards, and creates missing ones.
  void Propagate(const BucketKey& key, const Change& change);

  Fleet& fleet_;
  ZaeSender sender_;
  nanoseconds interval_;
  Instant end_;
  std::size_t read_ = 0;  // records of the stream that were read
  ZaeAggregatorTally tally_;
};

}  // namespace weir::dynamo
