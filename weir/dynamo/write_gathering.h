// When the next write on a bucket is sent after one that several callers shared.
// Mechanism: docs/design/actor.md, Callers that share writes.
#pragma once

#include <cstddef>

#include "weir/dynamo/take_view.h"

namespace weir::dynamo {

/// The callers whose parts one write carried are answered together, and usually ask again at once.
/// If the first of them got a write of its own, all others would wait for it. So when the first
/// part comes back, its write is held until as many parts are pending as callers were answered, but
/// not for longer than a quarter of a round trip and a millisecond. If fewer come back, the next 1,
/// 3, 7, 15 such writes are not held. Not thread-safe.
class WriteGathering {
 public:
  /// A write was applied, and its response answered this number of callers. `pending`: parts that
  /// are queued already. `most`: parts that one write carries.
  void OnApplied(std::size_t answered, std::size_t pending, std::size_t most, const Moment& moment);
  /// False: no part is pending yet, or more parts are expected before until().
  bool MaySend(std::size_t pending, Instant now);
  bool is_holding() const { return expected_ > 0; }
  /// kNoTime: no part waits for others.
  Instant until() const { return expected_ == 0 ? kNoTime : until_; }

 private:
  std::size_t expected_ = 0;  // parts; 0: no write is held
  nanoseconds longest_{0};    // of the hold, from the first part on
  Instant lapses_{};          // callers that come later are not waited for
  Instant until_ = kNoTime;
  int misses_ = 0;  // in a row
  int skips_ = 0;   // writes that are not held
};

}  // namespace weir::dynamo
