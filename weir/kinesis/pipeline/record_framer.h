// From user records to the Kinesis records that may go to their shards.
//
//   AddUnmapped --> unmapped      until the first listing has ended
//                       |
//                       v AggregateUnmapped
//   Put ----------> aggregator ----> gate ----> TakePassed
//                       ^             ^
//   Reframe ------------+-------------+ in ordered mode: at the positions of its ticket
//
// The gate exists in ordered mode only.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "weir/kinesis/pipeline/aggregator.h"
#include "weir/kinesis/pipeline/order_gate.h"
#include "weir/kinesis/shards/shard_ranges.h"

namespace weir::kinesis {

/// A state machine without I/O; not thread-safe. `shards`: the ranges of the last listing.
///
/// In ordered mode a Kinesis record that was taken keeps its positions in the gate. Its ticket
/// (KinesisRecord::ticket) is ended by exactly one EndTicket or Reframe. Without order there are no
/// tickets: EndTicket does nothing, and Reframe only frames the records again.
class RecordFramer {
 public:
  RecordFramer(const AggregatorOptions& options, bool is_ordered);

  /// Stores a record until AggregateUnmapped: the rates of the shards cannot be applied yet.
  void AddUnmapped(UserRecord record);
  /// Aggregates the unmapped records, in the order of AddUnmapped.
  void AggregateUnmapped(const ShardRanges& shards);
  /// Adds the record to the batch of its shard.
  void Put(UserRecord record, const ShardRanges& shards);
  /// Ends a ticket; its remaining user records are framed again. In ordered mode they keep their
  /// positions and do not wait for batching.
  void Reframe(OrderGate::Ticket ticket, std::vector<UserRecord> records,
               const ShardRanges& shards);
  /// Ends a ticket: all of its user records have results.
  void EndTicket(OrderGate::Ticket ticket);
  /// Aggregates again the records that were put without a shard. In ordered mode all batches leave
  /// first, so that older records of a key stay ahead.
  void RerouteShardless(const ShardRanges& shards);

  /// Frames the batches whose deadline has come, or all batches.
  void FrameDue(Instant now) { aggregator_.TakeDue(now, framed_); }
  void FrameAll() { aggregator_.TakeAll(framed_); }
  /// Removes and returns the Kinesis records that may go to their shards.
  std::vector<KinesisRecord> TakePassed();

  /// Removes and returns the unmapped records that have expired.
  std::vector<UserRecord> TakeExpiredUnmapped(Instant now);
  /// Appends the records that have expired in the gate. They keep their positions.
  void TakeExpired(Instant now, std::vector<KinesisRecord>& out);
  /// Returns when the next batch is due, or the next record, unmapped or in the gate, expires;
  /// nothing if no record waits.
  std::optional<Instant> NextWake() const;

  /// Removes and returns the unmapped records.
  std::vector<UserRecord> TakeUnmapped() { return std::exchange(unmapped_, {}); }
  /// Takes all other records that wait here.
  void TakeAll(std::vector<KinesisRecord>& out);
  /// Forgets all tickets. REQUIRES: no record waits here, and no ticket is used afterwards.
  void ForgetTickets();

 private:
  /// Makes Kinesis records of these user records, without aggregator_.
  std::vector<KinesisRecord> FrameApart(std::vector<UserRecord> records, const ShardRanges& shards);

  AggregatorOptions options_;
  std::vector<UserRecord> unmapped_;
  Instant unmapped_expire_{};  // the earliest expiry of unmapped_
  Aggregator aggregator_;
  std::optional<OrderGate> gate_;      // in ordered mode
  std::vector<KinesisRecord> framed_;  // move to the gate or, without order, to passed_
  std::vector<KinesisRecord> passed_;  // until TakePassed
};

}  // namespace weir::kinesis
