// The three stores over the rows of a place: memory's and a file's are the same but for these.
#pragma once

#include <memory>

#include "weir/store/reservation_backend.h"
#include "weir/store/reservation_rows.h"

namespace weir {

/// Checks what it is asked, lets the rules decide on the rows, and answers before its calls return,
/// after the place has let go of the rows.
std::unique_ptr<ReservationBackend> MakeRowReservations(std::unique_ptr<ReservationPlace> place);

}  // namespace weir
