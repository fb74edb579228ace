// Reservations in a file, for callers that must not be blocked by it.
#pragma once

#include <memory>

#include "weir/runtime/scheduler.h"
#include "weir/store/reservation_backend.h"

namespace weir {

struct QueuedReservationsOptions {
  /// At most this many calls wait for the file at once; further ones are kUnavailable.
  std::size_t max_waiting = 4096;
};

/// Makes the calls of `inner`, which may block, on `worker`, one after the other in the order in
/// which they came, so that none overtakes another. No call blocks its caller. A deadline that
/// passes is answered on `timers`, kDeadlineExceeded; the verb is not made if its turn had not
/// come, and may be made else. Both schedulers must have ended before the result is destroyed.
std::unique_ptr<ReservationBackend> QueueReservations(
    std::unique_ptr<ReservationBackend> inner, Scheduler& worker, Scheduler& timers,
    const QueuedReservationsOptions& options = {});

}  // namespace weir
