// Keeps the order of each hash key: of two Kinesis records that share one, the second is sent when
// the first has its result.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "weir/kinesis/record.h"

namespace weir::kinesis {

/// A value, between aggregator and shard limiter. Each hash key of a user record is a lane. A
/// Kinesis record passes when it is the first in all lanes of its user records, and holds them
/// until Done; lanes queue in the order of Put, so none waits in a circle.
class OrderGate {
 public:
  /// Names a Kinesis record that has passed, until Done: carried in KinesisRecord::ticket. 0: none.
  using Ticket = std::uint64_t;

  /// What may go on at once is appended to `passed`, with its ticket. REQUIRES: record.ticket == 0.
  void Put(KinesisRecord record, std::vector<KinesisRecord>& passed);
  /// The record of this ticket is through: stored, failed, or expired. Its lanes go on.
  void Done(Ticket ticket, std::vector<KinesisRecord>& passed);
  /// The record of this ticket was cut into these, all of which still hold lanes of it: each gets a
  /// ticket of its own and may go on. A lane that none of them has goes on.
  /// REQUIRES: each lane of `parts` is one of the ticket's, and of one part only.
  void Split(Ticket ticket, std::vector<KinesisRecord>& parts, std::vector<KinesisRecord>& passed);

  /// Records that wait and have expired, in order of their expiry, with ticket 0. They keep no
  /// place; the caller makes new ones of what has not expired, in Restore.
  std::optional<Instant> Wake() const;
  /// The first waiting record whose expiry is not after `now`, where there is one. It keeps its
  /// place until Restore.
  std::optional<Ticket> ExpiredAt(Instant now) const;
  /// Takes its user records out, leaving the place.
  KinesisRecord Lift(Ticket waiting);
  /// Puts what is left of it, possibly nothing, back into its place.
  void Restore(Ticket waiting, std::optional<KinesisRecord> rest,
               std::vector<KinesisRecord>& passed);

  std::size_t waiting() const;
  /// Takes all that wait out, in order.
  void TakeAll(std::vector<KinesisRecord>& out);

 private:
};

}  // namespace weir::kinesis
