// Decides when to renew a slot while something runs. Without I/O.
//
//           Renewed, Failed
//          +------------------+
//          v                  |                    NotHeld before expiry, Bound
//        kHeld --kRenew--> kRenewing ----------------------------------------> kDone
//          |                  |
//          +------------------+--expired, last renewal failed or late: kGiveUp--> kLost
#pragma once

#include <optional>

#include "weir/base/time.h"

namespace weir::app {

/// Renews a slot after a third of its lifetime. After a failure it retries after a tenth of the
/// lifetime (100 ms to 5 s) until the slot has expired: then the slot is lost. If the process was
/// paused beyond the expiry, one more renewal decides, within a tenth of the lifetime. A slot that
/// is bound, or was released before it expired, is neither renewed nor lost. Not thread-safe.
class SlotKeeper {
 public:
  enum class Step {
    kWait,    ///< nothing to do until next()
    kRenew,   ///< start a renewal; it ends with Renewed, Failed, NotHeld or Bound
    kGiveUp,  ///< the slot has expired and another caller may have it; returned once
  };

  /// REQUIRES: ttl > 0.
  SlotKeeper(milliseconds ttl, UnixMillis expires, UnixMillis now);

  /// Returns the step to take at `now`.
  Step Advance(UnixMillis now);
  /// Returns when Advance may return a step other than kWait; nothing: never.
  std::optional<UnixMillis> next() const;

  void Renewed(UnixMillis expires, UnixMillis now);
  void Failed(UnixMillis now);
  /// Reports that the store does not hold the slot. If it has not expired at `now`, it was released
  /// by its id, or the resource that it was bound to has ended; otherwise another caller may have
  /// it.
  void NotHeld(UnixMillis now);
  void Bound() { state_ = State::kDone; }

  bool is_lost() const { return state_ == State::kLost; }

 private:
  enum class State {
    kHeld,
    kRenewing,  ///< a renewal is in flight
    kDone,      ///< bound, or released on purpose
    kLost,
  };

  milliseconds RetryInterval() const;
  Step GiveUp();

  milliseconds ttl_;
  UnixMillis expires_;
  UnixMillis next_;  ///< the time of the next renewal; in kRenewing, of giving up the one in flight
  State state_ = State::kHeld;
  bool has_failed_ = false;  ///< since the last success
};

}  // namespace weir::app
