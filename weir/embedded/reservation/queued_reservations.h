// Reservations in a file, for callers that must not block.
#pragma once

#include <memory>

#include "weir/runtime/scheduler.h"
#include "weir/store/reservation/reservation_backend.h"

namespace weir {

struct QueuedReservationsOptions {
  /// The number of calls that may wait for the file at once; further ones complete with
  /// kUnavailable.
  std::size_t max_waiting = 4096;
};

/// Makes the calls of `inner`, which may block, on `worker`, one after the other in the order of
/// the calls. No call blocks its caller. When a deadline passes, the call completes with
/// kDeadlineExceeded on `timers`: it is not made if it had not begun; otherwise it may still take
/// effect. Both schedulers must have ended before the result is destroyed.
std::unique_ptr<ReservationBackend> QueueReservations(
    std::unique_ptr<ReservationBackend> inner, Scheduler& worker, Scheduler& timers,
    const QueuedReservationsOptions& options = {});

}  // namespace weir
