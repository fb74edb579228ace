// When to ask again for what a busy table did not do.
#pragma once

#include <optional>

#include "weir/base/rng.h"
#include "weir/runtime/backoff.h"
#include "weir/runtime/deadline.h"

namespace weir::dynamo {

/// Pauses with full jitter, of at most 25 ms doubling to 2 s. (AWS's page of BatchGetItem: "we
/// strongly recommend that you use an exponential backoff algorithm".) A value.
class BatchBackoff {
 public:
  /// So many pauses in a row without any progress, and there is no other.
  static constexpr std::uint32_t kMostPauses = 10;

  explicit BatchBackoff(Deadline deadline) : deadline_(deadline) {}

  Deadline deadline() const { return deadline_; }
  /// Something was done: the next pause is a short one.
  void Progress() { backoff_.Reset(); }
  /// When to try again; nothing: there were too many pauses, or the deadline does not leave the
  /// time.
  std::optional<Instant> Next(Instant now, Rng& rng) {
    if (backoff_.tries() >= kMostPauses) return std::nullopt;
    const nanoseconds pause = backoff_.Next(rng);
    if (pause >= deadline_.Left(now)) return std::nullopt;
    return now + pause;
  }

 private:
  Deadline deadline_;
  Backoff backoff_{std::chrono::milliseconds(25), std::chrono::seconds(2)};
};

}  // namespace weir::dynamo
