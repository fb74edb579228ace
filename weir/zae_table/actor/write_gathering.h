// When the next write on a bucket is sent after one that several callers shared.
// Mechanism: docs/design/actor.md, "Callers that share writes".
//
//         OnApplied                    first part                 all parts, or until()
//   idle -----------> parts expected -------------> write is held ----------------------> idle
#pragma once

#include <cstddef>

#include "weir/zae_table/bucket/take_judge.h"

namespace weir::dynamo {

/// The callers whose parts one write carried get their results at the same time, and usually send
/// their next requests at once. If the first of them got a write of its own, all others would wait
/// for it. So when the first part arrives, its write is held until the number of pending parts is
/// that of the callers that got results plus that of the parts that were pending then. The hold
/// lasts for a quarter of a round trip, but at most for a millisecond. If fewer parts arrive in
/// this time, the next such write is not held; after further misses in a row, the next 3, 7 and
/// then 15 writes are not. Not thread-safe.
class WriteGathering {
 public:
  /// A write was applied, and its response completed the requests of `completed` callers.
  /// `pending`: parts that are queued already. `most`: the maximum number of parts in one write.
  void OnApplied(std::size_t completed, std::size_t pending, std::size_t most,
                 const ProtocolTime& moment);
  /// Returns true if no write is held. Otherwise returns true, and ends the hold, if all expected
  /// parts are pending or until() has passed.
  bool MaySend(std::size_t pending, Instant now);
  bool is_holding() const { return expected_ > 0; }
  /// Returns when the hold ends; kNoTime if no part is held.
  Instant until() const { return expected_ == 0 ? kNoTime : until_; }

 private:
  std::size_t expected_ = 0;  // parts; 0: no write is held
  nanoseconds longest_{0};    // the longest hold, from the first part on
  Instant lapses_{};          // parts that arrive later do not wait for others
  Instant until_ = kNoTime;
  int misses_ = 0;  // in a row
  int skips_ = 0;   // writes that are not held
};

}  // namespace weir::dynamo
