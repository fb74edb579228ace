// Reads a stream back without I/O: responses go in; requests, records and the next wake-up come
// out. Mechanism: docs/design/kinesis.md.
//
// The stages of a shard:
//
//     parents ended            has an iterator
//   kWaits ------> kBegins --------------------> kReads --+
//                   |  ^                         |  ^  |  | next page
//                   |  |  iterator expired       |  +--|--+
//                   |  +-------------------------+     |
//                   |                            |     | at the end of an open shard,
//        not found  |     end of a closed shard, |     | without `follow`
//                   |     or not found           |     v
//                   +------------> kEnded <------+   kCaughtUp --closed meanwhile--> kReads
//
// A reading that begins at the end of the stream (kLatest) waits for no parents, and skips closed
// shards.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "weir/aws/failure.h"
#include "weir/base/result.h"
#include "weir/base/rng.h"
#include "weir/base/time.h"
#include "weir/kinesis/reader/reader_step.h"
#include "weir/kinesis/wire/read_wire.h"
#include "weir/runtime/backoff.h"

namespace weir::kinesis {

/// Returns each record once, the records of a shard in their order, and those of a shard's parents
/// before its own. Not thread-safe.
class StreamReader {
 public:
  using Answer = tl::expected<std::string, AwsFailure>;

  StreamReader(StreamAddress stream, const ReaderOptions& options, std::uint64_t seed);

  /// Performs the work that is due at `now`. The first call begins the reading.
  ReaderStep OnWake(Instant now);
  /// Handles the response to the request with this id. A response to an unknown id is ignored.
  ReaderStep OnAnswer(std::uint64_t id, const Answer& answer, Instant now);
  const ReaderStats& stats() const { return stats_; }

 private:
  enum class Stage {
    kWaits,     ///< its parents are not read to their ends
    kBegins,    ///< it needs an iterator
    kReads,     ///< it has an iterator
    kCaughtUp,  ///< open, and was read to its end once
    kEnded,     ///< was read to its end for good
  };
  /// Consecutive failures of one kind of request.
  struct FailureSeries {
    Backoff backoff;
    std::uint32_t failures = 0;
  };
  /// The reading of one shard.
  struct Reading {
    ReadShard shard;
    Stage stage = Stage::kWaits;
    Position position{};
    std::string iterator{};
    /// The service has responded that the shard does not exist.
    bool is_missing = false;
    FailureSeries failure_series;
  };
  /// The listing of all shards that runs or is due.
  struct Listing {
    bool wanted = true;  ///< its first or next page must be requested
    bool again = false;  ///< another listing must follow this one
    /// Of the request in flight; 0: none.
    std::uint64_t id = 0;
    Instant due{};
    std::string token{};
    std::vector<ReadShard> found{};
    std::size_t pages = 0;  ///< of `found`
    FailureSeries failure_series;
  };

  /// Makes the requests that are due and returns the step.
  ReaderStep NextStep(Instant now);
  /// Makes the request for a page of the listing.
  ReaderStep::Request MakeListRequest();
  /// Makes the next request for a shard: an iterator or records.
  ReaderStep::Request MakeShardRequest(ShardId id);
  /// Returns when the next request is due; nothing if a response must come first.
  std::optional<Instant> NextWake() const;
  /// Returns whether the reading has ended.
  bool is_done() const;

  /// Passes a response to the handler of its request. An error ends the reading, as in all of
  /// these.
  Status HandleAnswer(std::uint64_t id, const Answer& answer, Instant now, ReaderStep& step);
  Status OnListing(const Answer& answer, Instant now);
  Status OnListingFailed(const AwsFailure& failure, Instant now);
  Status OnShard(Reading& reading, const Answer& answer, Instant now, ReaderStep& step);
  Status OnShardFailed(Reading& reading, const AwsFailure& failure, Instant now);
  /// Handles a page of records.
  void OnPage(Reading& reading, RecordPage page, Instant now, ReaderStep& step);
  /// Adds the user records of a Kinesis record to the step, by the consumer's rule.
  void AddRecords(const ReadShard& shard, const StoredRecord& stored, ReaderStep& step);
  /// Counts a failure, unless it is a throttle. Returns when to retry; an error if a retry cannot
  /// succeed, or after most_tries consecutive failures.
  Result<Instant> TryAgain(FailureSeries& failure_series, const AwsFailure& failure, Instant now);
  /// Ends a series of failures.
  void EndFailures(FailureSeries& failure_series);

  /// Handles a listing that was read to its end.
  Status OnListed(Instant now);
  /// Returns kNotFound if an open shard is listed and cannot be read.
  Status CheckReadable(const ReadShard& shard) const;
  /// Adds a listed shard, or notes that it is closed.
  void AddShard(const ReadShard& shard, Instant now);
  /// Notes that a shard takes no more records. If it was read to its end, it must be read once
  /// more.
  void MarkClosed(Reading& reading, Instant now);
  bool HasChild(ShardId parent) const;
  /// Requests a listing that begins after this call.
  void WantListing();
  /// Begins the shards whose parents are read to their ends.
  void OpenReady(Instant now);
  /// Schedules the next request for a shard.
  void ScheduleRequest(Reading& reading, Stage stage, Instant due);
  /// Ends a shard and adds its children.
  void CloseShard(Reading& reading, const std::vector<ReadShard>& children, Instant now);

  const StreamAddress stream_;
  const ReaderOptions options_;
  Rng rng_;
  std::map<ShardId, Reading> readings_;
  // Shards in kBegins or kReads without a request in flight.
  std::set<std::pair<Instant, ShardId>> due_;
  /// The shards of the requests in flight.
  std::map<std::uint64_t, ShardId> in_flight_;
  std::size_t ended_ = 0;               ///< number of shards in kEnded
  std::size_t failing_ = 0;             // number of FailureSeries with failures
  std::optional<Error> first_failure_;  // since all requests succeeded last
  bool listed_ = false;                 // a listing was read to its end
  Listing listing_;
  std::uint64_t next_id_ = 1;
  ReaderStats stats_;
};

}  // namespace weir::kinesis
