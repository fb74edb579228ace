// What goes into and comes out of a StreamReader.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "weir/base/result.h"
#include "weir/base/time.h"
#include "weir/kinesis/read_wire.h"
#include "weir/kinesis/shard_map.h"

namespace weir::kinesis {

struct ReaderOptions {
  /// In the shards that exist when the reading begins. REQUIRES: a sequence number is of `only`.
  Position from{};
  /// False: up to where the open shards end when that is reached. True: without end.
  bool follow = false;
  std::optional<ShardId> only{};    ///< this shard, and not its children
  std::size_t page_records = 1000;  ///< Kinesis records of one request: 1 to 10000
  std::size_t max_in_flight = 8;    ///< requests; each answer may take some 14 MB
  /// From one request for a shard's records to the next: the service takes five a second of all
  /// readers.
  nanoseconds least_gap = milliseconds(200);
  nanoseconds idle_gap = std::chrono::seconds(1);  ///< after a page without records at the end
  nanoseconds first_backoff = milliseconds(200);
  nanoseconds longest_backoff = std::chrono::seconds(10);  ///< REQUIRES: >= first_backoff > 0
  /// A request that fails so often in a row ends the reading; 0: only if it cannot succeed.
  /// Throttles do not count.
  std::uint32_t most_tries = 6;
};

/// What somebody put.
struct StreamRecord {
  ShardId shard;
  std::string sequence_number;            ///< of its Kinesis record
  std::uint64_t sub_sequence_number = 0;  ///< its place in an aggregate; 0 where it was alone
  std::string partition_key;
  std::string data;
};

/// What is to be done after an event.
struct ReaderStep {
  struct Ask {
    std::uint64_t id = 0;
    std::string operation;
    std::string body;
  };
  std::vector<Ask> asks;  ///< each is answered by OnAnswer; sending one twice is harmless
  std::vector<StreamRecord> records;  ///< of one shard, in its order
  std::optional<Instant> wake;        ///< call OnWake then, at the latest
  std::optional<Error> failing;       ///< the first of failures, throttles apart, that are retried
  bool recovered = false;             ///< all that failed has succeeded, or is no longer needed
  bool done = false;                  ///< nothing more will come
  std::optional<Error> error;         ///< why it was ended, where it was
};

struct ReaderStats {
  std::uint64_t kinesis_records = 0;
  std::uint64_t records = 0;
  /// Aggregates that no consumer delivers: with a hash outside of their shard. What was in them was
  /// put again by a producer that knows that.
  std::uint64_t dropped = 0;
  std::uint64_t damaged = 0;  ///< aggregates that cannot be read; passed over
  std::optional<Error> first_damage;
};

}  // namespace weir::kinesis
