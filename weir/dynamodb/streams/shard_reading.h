// Reads one shard without I/O.
//
//   kSeeks          --(an iterator)----------------------------> kReads
//   kReads          --(all records of a page are completed)----> kReads
//   kReads          --(a page without a next iterator)---------> kEnded
//   kReads          --(an expired iterator, a broken page)-----> kSeeks
//   kSeeks, kReads  --(the position was trimmed: a gap)--------> kSeeks
//   kSeeks, kReads  --(the service knows no such shard)--------> kMissing
//   kMissing        --(the shard is still listed)--------------> kSeeks
//   kMissing        --(the shard is not listed: a gap)---------> kEnded
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "weir/aws/failure.h"
#include "weir/aws/json_exchange.h"
#include "weir/base/rng.h"
#include "weir/dynamodb/streams/consumer_step.h"
#include "weir/dynamodb/streams/record_page.h"
#include "weir/runtime/backoff.h"

namespace weir::dynamo {

/// At most one request and one batch are in flight, and never both. Not thread-safe.
class ShardReading {
 public:
  using Response = tl::expected<std::string, AwsFailure>;

  /// `options` must outlive it. If `from` is kLatest or kTrimHorizon and has a time, records that
  /// are more than a minute older (by the clock of another process) are not delivered. A kLatest
  /// whose time is not known, or more than ten seconds ago, is read as kTrimHorizon.
  ShardReading(std::string shard, ShardPosition from, const ConsumerOptions& options);

  /// Returns when the next request is due; nothing if another event must come first.
  std::optional<Instant> due() const;
  /// Returns the next request, without an id. REQUIRES: it is due.
  ConsumerStep::Request MakeRequest(Moment at);
  /// Handles the response to the request. An error ends the consumer.
  Status OnResponse(const Response& response, Moment at, Rng& rng,
                    std::vector<ConsumerEvent>& events);

  /// Returns the next gap or records, without an id and an epoch; nothing if there are none or a
  /// batch is in flight.
  std::optional<ChangeBatch> TakeBatch();
  /// The batch in flight is completed. REQUIRES: there is one.
  void OnCompleted();

  bool has_batch() const { return after_batch_.has_value() || is_gap_in_flight_; }
  bool has_request() const { return in_flight_; }
  bool is_ended() const { return position_.at == ShardPosition::At::kEnd; }
  bool is_missing() const { return stage_ == Stage::kMissing; }
  /// Handles a listing that began at `begun`. A missing shard that is not listed ends with a gap.
  void OnListed(bool is_listed, Instant begun, Moment at, Rng& rng,
                std::vector<ConsumerEvent>& events);
  /// Returns the position before which all records are completed.
  const ShardPosition& position() const { return position_; }

 private:
  enum class Stage : std::uint8_t { kSeeks, kReads, kMissing, kEnded };

  Status OnIterator(const std::string& body);
  void OnPage(const std::string& body, Moment at, Rng& rng, std::vector<ConsumerEvent>& events);
  Status OnFailure(const AwsFailure& failure, Moment at, Rng& rng,
                   std::vector<ConsumerEvent>& events);
  void OnTrimmed(const std::string& reason, Moment at, Rng& rng);
  /// Drops the records of a page that are older than wanted_from_.
  void DropUnwanted();
  /// Requests an iterator at resume_.
  void Seek(Instant due);
  void TryAgain(const Error& error, bool is_throttle, Instant now, Rng& rng,
                std::vector<ConsumerEvent>& events);
  void NoteGap(const std::string& reason, UnixMillis before);
  void MoveTo(ShardPosition position);

  const std::string shard_;
  const ConsumerOptions& options_;
  Stage stage_ = Stage::kSeeks;
  bool in_flight_ = false;
  Instant due_{};
  Instant requested_{};  ///< the time at which the last GetRecords was made
  Instant missing_at_{};
  ShardPosition position_;                 ///< all records before it are completed
  ShardPosition resume_;                   ///< the position of the next iterator
  std::optional<UnixMillis> wanted_from_;  ///< older records at the horizon are not wanted
  std::optional<StreamGap> gap_;           ///< to be delivered
  bool gap_is_known_ = false;              ///< noted since the last batch of records was completed
  bool failing_ = false;
  std::string iterator_;
  std::deque<PageRecord> pending_;  ///< records of the last page that no batch has
  bool is_gap_in_flight_ = false;
  std::optional<ShardPosition> after_batch_;  ///< after the batch of records in flight
  Backoff backoff_;
};

}  // namespace weir::dynamo
