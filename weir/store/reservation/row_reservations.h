// The three stores over the rows of a RowTransactions. The stores in memory and in a file differ
// only in their rows.
#pragma once

#include <memory>

#include "weir/store/reservation/reservation_backend.h"
#include "weir/store/reservation/reservation_rows.h"

namespace weir {

/// Returns a backend that checks arguments, and applies the rules to the rows. Each call completes
/// before it returns, and after the access to the rows has ended.
std::unique_ptr<ReservationBackend> MakeRowReservations(
    std::unique_ptr<RowTransactions> transactions);

}  // namespace weir
