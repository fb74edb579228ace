// When audit events expire. No clock that can be set decides it. Mechanism: docs/design/time.md.
#pragma once

#include "weir/base/time.h"

namespace weir {

/// Counts the time that has surely passed: the machine's time since boot, boot after boot, without
/// the time between two boots. An event expires when its retention was counted since its writing,
/// so none expires early, whatever the wall clock did. A value without I/O.
class AuditHorizon {
 public:
  struct State {
    milliseconds counted{0};
    nanoseconds at{0};  ///< the time since boot when it was counted last
  };

  /// `is_same_boot`: `stored.at` is of this boot. Else counting goes on from `boot`.
  AuditHorizon(State stored, nanoseconds boot, bool is_same_boot);

  const State& state() const { return state_; }
  /// Counts on; events whose expiry is at most this have expired.
  milliseconds Count(nanoseconds boot);
  /// The expiry of an event that is written now.
  milliseconds ExpiryOfNew() const;

 private:
  State state_;
};

}  // namespace weir
