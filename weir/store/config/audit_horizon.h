// Decides when audit events expire, without a clock that can be set. Mechanism:
// docs/design/time.md.
#pragma once

#include <chrono>

#include "weir/base/time.h"

namespace weir {

/// Counts time that has certainly passed: the machine's time since boot, added up over all boots,
/// without the time between two boots. An event expires when its retention has been counted since
/// it was written. So no event expires early, whatever the wall clock shows. A value without I/O.
class AuditHorizon {
 public:
  struct State {
    milliseconds uptime{0};  ///< the time that has been counted, over all boots
    nanoseconds at{0};       ///< the time since boot at the latest count
  };

  /// Continues from `stored`. If `stored.at` is from another boot (`is_same_boot` is false),
  /// counting continues from `boot`, the present time since boot.
  AuditHorizon(State stored, nanoseconds boot, bool is_same_boot);

  const State& state() const { return state_; }
  /// Counts up to `boot`, and returns the counted time: events whose expiry is at most this have
  /// expired.
  milliseconds Count(nanoseconds boot);
  /// Returns the expiry of an event that is written now and has this retention.
  milliseconds ExpiryOfNew(std::chrono::days retention) const;

 private:
  State state_;
};

}  // namespace weir
