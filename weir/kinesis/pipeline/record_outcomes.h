// What follows from the attempt to store a Kinesis record.
//
//   OnFailed --> RetryQueue --+--> retried: TakeDueRetry
//                  ^          |
//                  |          +--> not retried: result
//                  |
//                  | to be sent again
//   OnStored --> DecideStored --> result
//                  |       ^
//                  v       | OnListed
//               ParkedRecords: the range of the shard is not known
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "weir/kinesis/pipeline/parked_records.h"
#include "weir/kinesis/pipeline/record_results.h"
#include "weir/kinesis/pipeline/retry_queue.h"

namespace weir::kinesis {

/// A state machine without I/O; not thread-safe. `rng` draws the waits before retries. If a
/// response contradicts `map`, the map is notified (ShardMap::Doubt).
class RecordOutcomes {
 public:
  using Ticket = OrderGate::Ticket;

  /// A record is parked at most until `max_listings` listings did not return the range of its
  /// shard.
  RecordOutcomes(const RetryOptions& retry, int max_listings)
      : max_listings_(max_listings), retries_(retry) {}

  /// Handles a record that a shard has stored: it gets its result, is retried, or is parked.
  void OnStored(ParkedRecord stored, ShardMap& map, Instant now, Rng& rng);
  /// Handles a failed attempt of a record: its user records are retried or get their results.
  void OnFailed(KinesisRecord record, const AttemptFailure& failure, Instant now, Rng& rng);
  /// Handles the end of a listing: decides about the parked records again.
  void OnListed(ShardMap& map, Instant now, Rng& rng);
  /// Decides about the parked records that have expired, without waiting for a listing.
  void DecideExpired(Instant now, Rng& rng);
  /// Removes and returns user records whose retry is due, or that expired before it; nothing if
  /// there are none.
  std::optional<RetryGroup> TakeDueRetry(Instant now) { return retries_.TakeDue(now); }
  /// EndRetries ends all records that wait for a retry, EndParked all that are parked. `closed`
  /// becomes the last attempt of the records that are not known to be delivered.
  void EndRetries(const Attempts::Shared& closed);
  void EndParked(const Attempts::Shared& closed);

  /// Removes and returns the tickets, other than 0, of Kinesis records whose user records all have
  /// their results.
  std::vector<Ticket> TakeEnded() { return std::exchange(ended_, {}); }
  /// Returns when a retry is due or a parked record expires; nothing if there is none.
  std::optional<Instant> NextWake() const;

  RecordResults& results() { return results_; }
  const RecordResults& results() const { return results_; }
  std::uint64_t retries() const { return retries_.retries(); }

 private:
  void CarryOut(const StoredDecision& decision, ParkedRecord stored, Instant now, Rng& rng);
  void ReportStored(ParkedRecord stored);
  void EndTicket(Ticket ticket);

  int max_listings_;
  ParkedRecords parked_;
  RetryQueue retries_;
  RecordResults results_;
  std::vector<Ticket> ended_;
};

}  // namespace weir::kinesis
