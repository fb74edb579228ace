// Slots, accounts' limits and accounts' tokens in the memory of this process: nothing outlives it.
#pragma once

#include <memory>

#include "weir/base/time.h"
#include "weir/store/reservation_backend.h"

namespace weir {

/// Every call answers before it returns, so deadlines are not looked at. Exact: a slot is free at
/// its expiry. What has expired is forgotten as new rows come.
/// `clock` is what its bucket time is made of, and must outlive it; null: it has none.
std::unique_ptr<ReservationBackend> MakeMemoryReservations(const Clock* clock = nullptr);

}  // namespace weir
