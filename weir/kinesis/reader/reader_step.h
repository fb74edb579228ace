// The options, steps and counts of a StreamReader.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "weir/base/result.h"
#include "weir/base/time.h"
#include "weir/kinesis/shards/shard_map.h"
#include "weir/kinesis/wire/read_wire.h"

namespace weir::kinesis {

struct ReaderOptions {
  /// Where to begin in the shards that exist when the reading begins. REQUIRES: if `from` has a
  /// sequence number, `only` is the shard of this number.
  Position from{};
  /// False: the reading ends when the ends of the open shards are reached. True: it does not end,
  /// except with `only`, when this shard is closed and read to its end.
  bool follow = false;
  std::optional<ShardId> only{};    ///< read this shard only, without its children
  std::size_t page_records = 1000;  ///< the most Kinesis records of one request: 1 to 10000
  /// The maximum number of requests in flight. A response may take up to 14 MB.
  std::size_t max_in_flight = 8;
  /// The least time between two requests for the records of one shard: the service accepts five per
  /// second, from all readers together.
  nanoseconds least_gap = milliseconds(200);
  /// The least time from a page without records, at the end of a shard, to the next request for the
  /// shard.
  nanoseconds idle_gap = std::chrono::seconds(1);
  nanoseconds first_backoff = milliseconds(200);
  nanoseconds longest_backoff = std::chrono::seconds(10);  ///< REQUIRES: >= first_backoff > 0
  /// A request that has failed this number of times in a row ends the reading; 0: a request ends
  /// the reading only if a retry cannot succeed. Throttles do not count.
  std::uint32_t max_tries = 6;
};

/// A user record of the stream.
struct StreamRecord {
  ShardId shard;
  std::string sequence_number;  ///< the sequence number of the Kinesis record
  /// Its index in an aggregate; 0 if it was not aggregated.
  std::uint64_t sub_sequence_number = 0;
  std::string partition_key;
  std::string data;
};

/// The actions that follow an event.
struct ReaderStep {
  /// A request. Its response goes to OnResponse with this id.
  struct Request {
    std::uint64_t id = 0;
    std::string operation;
    std::string body;
  };
  std::vector<Request> requests;      ///< sending a request twice does no harm
  std::vector<StreamRecord> records;  ///< the records of a shard in their order
  /// Call OnWake at this time or earlier; nothing: only after another event.
  std::optional<Instant> wake;
  /// The first of a series of failures that are retried, throttles excepted.
  std::optional<Error> failing;
  /// All requests that failed have succeeded, or are not needed any more.
  bool recovered = false;
  bool done = false;           ///< no step follows
  std::optional<Error> error;  ///< why the reading ended; nothing if it succeeded
};

struct ReaderStats {
  std::uint64_t kinesis_records = 0;
  std::uint64_t records = 0;
  /// Aggregates that no consumer delivers, as a hash is outside of their shard. A producer that
  /// applies this rule has put their records again.
  std::uint64_t dropped = 0;
  std::uint64_t damaged = 0;  ///< aggregates that cannot be parsed; they are skipped
  std::optional<Error> first_damage;
};

}  // namespace weir::kinesis
