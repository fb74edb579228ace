// Pauses between the retries of a batch that a busy table has processed only in part.
#pragma once

#include <optional>

#include "weir/base/rng.h"
#include "weir/runtime/backoff.h"
#include "weir/runtime/deadline.h"

namespace weir::dynamo {

/// Computes pauses with full jitter. The longest possible pause is 25 ms at first, and doubles up
/// to 2 s. (AWS, "BatchGetItem": "we strongly recommend that you use an exponential backoff
/// algorithm".) A value; not thread-safe.
class BatchBackoff {
 public:
  /// The greatest number of pauses in a row without progress.
  static constexpr std::uint32_t kMaxPauses = 10;

  explicit BatchBackoff(Deadline deadline) : deadline_(deadline) {}

  Deadline deadline() const { return deadline_; }
  /// Notes that a part of the batch was processed: the next pause is as short as the first.
  void Progress() { backoff_.Reset(); }
  /// Returns the time of the next try. Returns nothing after kMaxPauses pauses without progress,
  /// or if the pause would not end before the deadline.
  std::optional<Instant> Next(Instant now, Rng& rng) {
    if (backoff_.tries() >= kMaxPauses) return std::nullopt;
    const nanoseconds pause = backoff_.Next(rng);
    if (pause >= deadline_.Left(now)) return std::nullopt;
    return now + pause;
  }

 private:
  Deadline deadline_;
  Backoff backoff_{std::chrono::milliseconds(25), std::chrono::seconds(2)};
};

}  // namespace weir::dynamo
