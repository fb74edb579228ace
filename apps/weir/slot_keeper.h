// When a slot must be renewed that is held as long as something runs.
#pragma once

#include "weir/base/time.h"

namespace weir::app {

/// Renews after a third of the time that a slot lives, and where that fails again and again after
/// a tenth of it (100 ms to 5 s), until the slot has expired: then it is lost. A value.
class SlotKeeper {
 public:
  SlotKeeper(milliseconds ttl, UnixMillis expires, UnixMillis now);

  /// When to renew, or to look whether it is lost.
  UnixMillis next() const { return next_; }
  void Renewed(UnixMillis expires, UnixMillis now);
  void Failed(UnixMillis now);
  /// The store said that it is not held any more.
  void Gone() { gone_ = true; }
  bool lost(UnixMillis now) const { return gone_ || now >= expires_; }

 private:
  milliseconds ttl_;
  UnixMillis expires_;
  UnixMillis next_;
  bool gone_ = false;
};

}  // namespace weir::app
