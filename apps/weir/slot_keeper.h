// When a slot must be renewed that is held as long as something runs.
#pragma once

#include <optional>

#include "weir/base/time.h"

namespace weir::app {

/// Renews after a third of the time that a slot lives, and after a failure again and again after a
/// tenth of it (100 ms to 5 s), until the slot has expired: then it is lost. After a pause of the
/// process beyond that time one more renewal decides, within a tenth of the time. A slot that is
/// bound, or was released before it expired, is neither renewed nor lost. A value without I/O.
class SlotKeeper {
 public:
  enum class Step {
    kWait,    ///< nothing to do until next()
    kRenew,   ///< begin a renewal; it ends in Renewed, Failed, Gone or Bound
    kGiveUp,  ///< the slot has expired, another may have it; returned once
  };

  /// REQUIRES: ttl > 0.
  SlotKeeper(milliseconds ttl, UnixMillis expires, UnixMillis now);

  /// What there is to do at `now`.
  Step Advance(UnixMillis now);
  /// When Advance may return another step than kWait; nothing: never.
  std::optional<UnixMillis> next() const;

  void Renewed(UnixMillis expires, UnixMillis now);
  void Failed(UnixMillis now);
  /// The store reports that the slot is not held. If it has not expired at `now`, it was released
  /// by its id, or the thing it was bound to has ended; else another may have it.
  void Gone(UnixMillis now);
  void Bound() { state_ = State::kFree; }

  bool is_lost() const { return state_ == State::kLost; }

 private:
  enum class State {
    kHeld,
    kAsking,  ///< a renewal is in flight
    kFree,    ///< bound, or released on purpose
    kLost,
  };

  milliseconds Pause() const;
  Step GiveUp();

  milliseconds ttl_;
  UnixMillis expires_;
  UnixMillis next_;  ///< the next renewal; of kAsking: when its answer comes too late
  State state_ = State::kHeld;
  bool has_failed_ = false;  ///< since the last success
};

}  // namespace weir::app
