// Slots, accounts' limits and accounts' tokens in the memory of this process, without persistence.
#pragma once

#include <memory>

#include "weir/base/time.h"
#include "weir/store/reservation/reservation_backend.h"

namespace weir {

/// Returns an empty backend. Every call completes before it returns, so deadlines are ignored.
/// Expiry is exact: a slot is free at its expiry. Expired rows are removed as new rows are added.
/// Bucket time is that of `clock`, as in MakeMemoryBackend; the clock must outlive the backend. If
/// it is null, there is no bucket time.
std::unique_ptr<ReservationBackend> MakeMemoryReservations(const Clock* clock = nullptr);

}  // namespace weir
