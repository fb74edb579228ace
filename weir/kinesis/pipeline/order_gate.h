// Ordered mode: keeps the order of the records of each hash key. Of two Kinesis records that share
// a hash key, the second is sent after the first has its result.
//
// Life of a ticket, from Put or Split to Done or Split:
//
//              Put, or part of a Split
//                        |
//                        v         Lift, at its expiry
//     +-------------- waiting -----------------------> lifted
//     | first in each of its lanes                       |
//     v                                                  |
//   passed --+-------------------------------------------+
//            |
//            +--> Done:  its positions are removed; the next tickets may pass
//            +--> Split: its parts take its positions, each with a ticket of its own
#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <list>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "weir/kinesis/wire/record.h"

namespace weir::kinesis {

/// A state machine without I/O, between the aggregator and the shard limiters. Not thread-safe.
/// Each hash key is a lane, a queue in the order of Put. A Kinesis record is queued in the lanes of
/// all its user records, passes when it is first in each of them, and keeps its positions until
/// Done or Split, however often it is retried meanwhile. There is no deadlock, since all lanes
/// queue records in the same order. A call about a record of n user records takes O(n (log n + log
/// w)) time if w records wait.
///
/// A caller that gets a record, passed or lifted, ends its ticket (KinesisRecord::ticket, never 0)
/// with exactly one Done or Split. Each call appends the records that may be sent now to `passed`.
class OrderGate {
 public:
  using Ticket = std::uint64_t;

  /// Adds a record at the end of its lanes. Its ticket is overwritten.
  /// REQUIRES: the record has at least one user record.
  void Put(KinesisRecord record, std::vector<KinesisRecord>& passed);

  /// Ends a ticket: all of its user records have results (stored, failed or expired).
  /// REQUIRES: the ticket passed or was lifted, and has not ended.
  void Done(Ticket ticket, std::vector<KinesisRecord>& passed);

  /// Ends a ticket. `parts` are its remaining user records in new Kinesis records: they take its
  /// positions, in this order, each with a ticket of its own. A part that is first in its lanes
  /// passes. In a lane that is in none of the parts, the next record moves up. Without parts, Split
  /// is the same as Done.
  /// REQUIRES: as Done; each lane of `parts` is one of the ticket's.
  void Split(Ticket ticket, std::vector<KinesisRecord> parts, std::vector<KinesisRecord>& passed);

  /// Appends the waiting records that expire at `now` or before, in the order of their expiry. They
  /// keep their positions until Done or, if some of their user records have not expired, Split.
  void Lift(Instant now, std::vector<KinesisRecord>& lifted);
  /// Returns when the next waiting record expires; nothing if no record waits.
  std::optional<Instant> NextWake() const;

  /// Returns the number of Kinesis records that wait here.
  std::size_t waiting() const { return expiries_.size(); }
  /// Returns the number of hash keys that are in use: by a record that waits, has passed or was
  /// lifted.
  std::size_t lanes() const { return lanes_.size(); }

 private:
  using Lane = std::list<Ticket>;
  /// A position of a ticket in one lane.
  struct Position {
    HashKey hash = 0;
    Lane::iterator at;
  };
  /// A ticket that has not ended.
  struct Queued {
    std::vector<Position> positions;        // sorted by hash, each hash once
    std::size_t blocked = 0;                // number of its lanes in which it is not the first
    std::optional<KinesisRecord> record{};  // set while the record waits here

    /// Returns the position in this lane. REQUIRES: the ticket is in it.
    Lane::iterator PositionIn(HashKey lane) const;
  };

  /// Returns the lanes of a record, sorted by hash, each once; the iterators are not set.
  static std::vector<Position> LanesOf(const KinesisRecord& record);
  /// Gives the record a new ticket and queues it: before each position of `before`, or at the end
  /// of its lanes if `before` is null. Appends it to `passed` if it is the first in all of them.
  void Enqueue(KinesisRecord record, const Queued* before, std::vector<KinesisRecord>& passed);
  /// Removes a ticket's positions, and calls OnFirst for each ticket that is the first of a lane
  /// now.
  void RemovePositions(const Queued& queued, std::vector<KinesisRecord>& passed);
  /// Counts that the ticket has become the first in one more of its lanes; it passes if it is now
  /// the first in all of them.
  void OnFirst(Ticket ticket, std::vector<KinesisRecord>& passed);
  /// Takes a waiting record out; its positions remain.
  KinesisRecord TakeRecord(Ticket ticket, Queued& queued);

  absl::flat_hash_map<HashKey, Lane> lanes_;  // none is empty
  absl::flat_hash_map<Ticket, Queued> queued_;
  std::set<std::pair<Instant, Ticket>> expiries_;  // the expiries of the waiting records
  Ticket last_ticket_ = 0;
};

}  // namespace weir::kinesis
