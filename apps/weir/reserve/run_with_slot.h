// Runs a command while a slot is held, and renews the slot meanwhile.
#pragma once

#include <functional>

#include "apps/weir/reserve/child_process.h"
#include "weir/base/time.h"
#include "weir/reservation/reservation.h"

namespace weir::app {

/// The fate of the slot while the command ran.
struct CommandOutcome {
  int code = 0;  ///< the command's exit code, as Child::Wait returns it
  /// If not empty, the slot expired for this reason, and the command got SIGTERM.
  std::string lost{};
  bool released = false;  ///< another caller released the slot before it expired
};

/// The child, and the slot that is held for it. Both must outlive the call.
struct RenewalTarget {
  Child& child;
  Reservation& reservation;
  milliseconds ttl;                 ///< the lifetime that each renewal requests; more than 0
  std::function<UnixMillis()> now;  ///< returns the time of the store
};

/// Waits for the end of the command and meanwhile renews the slot at the times of SlotKeeper.
/// Renewals do not block: signals reach the command while a renewal is in flight. If the slot is
/// lost, sends the command SIGTERM when the slot expires. If the slot is bound or released on
/// purpose, it is no longer renewed, and the command continues. Returns when the command has ended
/// and no renewal is in flight.
CommandOutcome RunWithSlot(const RenewalTarget& target);

}  // namespace weir::app
