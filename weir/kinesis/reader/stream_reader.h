// Reads a stream back without I/O: responses go in; requests, records and the next wake-up come
// out. The stages of a shard: shard_readings.h. Mechanism: docs/design/kinesis.md.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "weir/aws/failure.h"
#include "weir/base/result.h"
#include "weir/base/time.h"
#include "weir/kinesis/reader/read_failures.h"
#include "weir/kinesis/reader/reader_step.h"
#include "weir/kinesis/reader/shard_listing.h"
#include "weir/kinesis/reader/shard_readings.h"
#include "weir/kinesis/wire/read_wire.h"

namespace weir::kinesis {

/// The steps return each record once: the records of a shard in their order, after those of its
/// parents. Not thread-safe.
class StreamReader {
 public:
  using Response = ShardListing::Response;

  StreamReader(StreamAddress stream, const ReaderOptions& options, std::uint64_t seed);

  /// Performs the work that is due at `now`. The first call begins the reading.
  ReaderStep OnWake(Instant now);
  /// Handles the response to the request with this id. A response to an unknown id is ignored.
  ReaderStep OnResponse(std::uint64_t id, const Response& response, Instant now);
  const ReaderStats& stats() const { return stats_; }

 private:
  /// Makes the requests that are due and returns the step.
  ReaderStep NextStep(Instant now);
  /// Makes the request for a page of the listing.
  ReaderStep::Request MakeListRequest();
  /// Makes the next request for a shard: an iterator or records.
  ReaderStep::Request MakeShardRequest(const ShardReading& reading);
  /// Returns when the next request for a shard may be sent; nothing if a response must come first.
  std::optional<Instant> NextShardWake() const;
  /// Returns whether the reading has ended.
  bool is_done() const;

  /// Passes a response to the handler of its request. An error of this function, or of a handler
  /// below, ends the reading.
  Status HandleResponse(std::uint64_t id, const Response& response, Instant now, ReaderStep& step);
  Status OnListing(const Response& response, Instant now);
  /// Ends the shards whose end was doubted, or reads those on that are listed as open: each such
  /// end is a failure of the shard's request.
  Status DecideDoubted(const ShardListing::Shards& shards, Instant now);
  Status OnShard(ShardReading& reading, const Response& response, Instant now, ReaderStep& step);
  Status OnShardFailed(ShardReading& reading, const AwsFailure& failure, Instant now);
  /// Schedules the request for an iterator that replaces an expired one.
  Status OnIteratorExpired(ShardReading& reading, const AwsFailure& expiry, Instant now);
  /// Handles a page of records.
  void OnPage(ShardReading& reading, RecordPage page, Instant now, ReaderStep& step);
  /// Schedules the request after a page that was not the last one of its shard.
  void ReadOn(ShardReading& reading, const RecordPage& page, Instant now);
  /// Ends a shard and adds its children.
  void CloseShard(ShardReading& reading, const std::vector<ReadShard>& children, Instant now);

  const StreamAddress stream_;
  const ReaderOptions options_;
  ReadFailures failures_;
  ShardReadings readings_;
  ShardListing listing_;
  /// The shards of the requests in flight.
  std::map<std::uint64_t, ShardId> in_flight_;
  std::uint64_t next_id_ = 1;
  ReaderStats stats_;
};

}  // namespace weir::kinesis
