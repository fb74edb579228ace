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
  pid_t sender = 0;     ///< the process that sent it with kill(2); 0: the kernel, as for a key
  std::int64_t at = 0;  ///< ns of CLOCK_MONOTONIC
};

/// From now on these signals no longer act on this process but wait for ReadSignal. A signal that
/// is ignored stays ignored. Repeated calls change nothing. kResourceExhausted: no descriptors.
[[nodiscard]] Status CatchSignals(std::span<const int> signals);
/// Whether CatchSignals catches it.
bool IsCaught(int signal);
/// The next one that was caught, without waiting. Signals that come while 2,000 wait are lost.
std::optional<CaughtSignal> ReadSignal();
/// Until a signal is caught, Wake is called, or the time is over. May return too early.
void AwaitSignal(nanoseconds most);
/// Ends the wait in progress, or the next one. Any thread, and a signal handler, may call it.
void WakeAwaitSignal();

/// In a child between fork and exec: restores the default action of the caught signals, and drops
/// those that came since the fork. REQUIRES: the signals were blocked at the fork, and are
/// unblocked after this.
void ReleaseCaughtSignals(std::span<const int> signals);

}  // namespace weir::app
