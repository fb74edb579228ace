// Keeps the order of each hash key: of two Kinesis records that share one, the second is sent when
// the first has its result.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <list>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "weir/kinesis/record.h"

namespace weir::kinesis {

/// A value, between aggregator and shard limiter. Each hash key is a lane, a queue in the order of
/// Put. A Kinesis record stands in the lanes of all its user records, passes when it is first in
/// each of them, and holds them until Done or Split, however often it is tried meanwhile. As every
/// lane queues in the same order, none waits in a circle. A call about a record of n user records
/// costs O(n log n), however many wait.
///
/// Who is given a record, passed or lifted, ends its ticket (KinesisRecord::ticket, never 0) with
/// exactly one Done or Split. What a call lets go on is appended to `passed`.
class OrderGate {
 public:
  using Ticket = std::uint64_t;

  /// REQUIRES: the record has at least one user record. Its ticket is overwritten.
  void Put(KinesisRecord record, std::vector<KinesisRecord>& passed);

  /// All user records of the ticket's have results: stored, failed or expired. Its lanes go on.
  void Done(Ticket ticket, std::vector<KinesisRecord>& passed);

  /// `parts` stand where the ticket's record stood, in this order, each with a ticket of its own:
  /// what is left of it, framed anew. A part that is first in its lanes goes on; a lane that is in
  /// none of them goes on. Without parts it is Done.
  /// REQUIRES: each lane of `parts` is one of the ticket's.
  void Split(Ticket ticket, std::vector<KinesisRecord> parts, std::vector<KinesisRecord>& passed);

  /// Appends those that wait and expire at `now` or before, in the order of their expiry. They keep
  /// their places until Done or, with what has not expired, Split.
  void Lift(Instant now, std::vector<KinesisRecord>& lifted);
  /// When the next one that waits expires; nothing where none waits.
  std::optional<Instant> Wake() const;

  /// Kinesis records that wait here.
  std::size_t waiting() const { return expiries_.size(); }
  /// Hash keys that some record without a result holds or waits for.
  std::size_t lanes() const { return lanes_.size(); }

 private:
  using Lane = std::list<Ticket>;
  struct Place {
    HashKey hash = 0;
    Lane::iterator at;
  };
  struct Standing {
    std::vector<Place> places;              // by hash, each once
    std::size_t blocked = 0;                // lanes in which it is not the first
    std::optional<KinesisRecord> record{};  // while it waits here

    Lane::iterator In(HashKey lane) const;
  };

  static std::vector<Place> PlacesOf(const KinesisRecord& record);
  /// Before each place of `before`, or at the end of its lanes.
  void Stand(KinesisRecord record, const Standing* before, std::vector<KinesisRecord>& passed);
  void Leave(const Standing& standing, std::vector<KinesisRecord>& passed);
  void OnFirst(Ticket ticket, std::vector<KinesisRecord>& passed);
  KinesisRecord TakeOut(Ticket ticket, Standing& standing);

  absl::flat_hash_map<HashKey, Lane> lanes_;  // none is empty
  absl::flat_hash_map<Ticket, Standing> standing_;
  std::set<std::pair<Instant, Ticket>> expiries_;  // of those that wait
  Ticket last_ticket_ = 0;
};

}  // namespace weir::kinesis
