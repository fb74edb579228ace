// Signals as events that a thread can wait for.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <span>

#include "weir/base/result.h"
#include "weir/base/time.h"

namespace weir::app {

struct CaughtSignal {
  int number = 0;
  pid_t sender = 0;     ///< the process that called kill(2); 0: the kernel, as for a key
  std::int64_t at = 0;  ///< ns of CLOCK_MONOTONIC
};

/// Makes these signals events for ReadSignal; they no longer act on this process. A signal that is
/// ignored remains ignored. Repeated calls change nothing. Returns kResourceExhausted if no
/// descriptors are left.
[[nodiscard]] Status CatchSignals(std::span<const int> signals);
/// Returns whether CatchSignals catches the signal.
bool IsCaught(int signal);
/// Returns the next caught signal without waiting. Signals that arrive while 2,000 are pending are
/// lost.
std::optional<CaughtSignal> ReadSignal();
/// Waits until a signal is caught, WakeAwaitSignal is called, or `most` has passed. May return
/// early.
void AwaitSignal(nanoseconds most);
/// Ends the wait in progress, or the next one. Any thread, and a signal handler, may call it.
void WakeAwaitSignal();

/// In a child between fork and exec: restores the default action of the caught signals and discards
/// those that arrived since the fork. REQUIRES: the signals were blocked at the fork, and are
/// unblocked after this.
void ReleaseCaughtSignals(std::span<const int> signals);

}  // namespace weir::app
