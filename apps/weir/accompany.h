// A command that runs while a slot is held.
#pragma once

#include <functional>

#include "apps/weir/child_process.h"
#include "weir/base/time.h"
#include "weir/reservation/reservation.h"

namespace weir::app {

/// What happened to the slot while the command ran.
struct Accompanied {
  int code = 0;  ///< that the command ended with, as Child::Wait returns it
  /// Not empty: the slot expired, for this reason, and the command was asked to end.
  std::string lost{};
  bool released = false;  ///< by another caller, before it expired
};

/// Both must outlive the call.
struct Company {
  Child& child;
  Reservation& reservation;
  milliseconds ttl;                 ///< of each renewal, more than 0
  std::function<UnixMillis()> now;  ///< the time of the store
};

/// Waits for the end of the command, and renews the slot meanwhile as SlotKeeper says, without
/// blocking: signals are passed on while a renewal is in flight. Asks the command to end when the
/// slot is lost, at its expiry. A slot that was bound, or released on purpose, is left alone, and
/// so is its command. Returns when no renewal is in flight.
Accompanied Accompany(const Company& company);

}  // namespace weir::app
