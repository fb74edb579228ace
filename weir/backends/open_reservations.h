// Opens a store of slots, accounts' limits and accounts' tokens by its URL.
#pragma once

#include <memory>
#include <string_view>

#include "weir/aws/service_location.h"
#include "weir/base/api.h"
#include "weir/base/result.h"
#include "weir/base/time.h"
#include "weir/store/reservation/reservation_backend.h"
#include "weir/telemetry/log.h"

namespace weir {

/// Opens the store that `url` names. The forms are:
///
/// - `memory:`
/// - `sqlite:PATH`: a file `PATH-reservations`, which any number of processes may have open. A file
///   has no namespaces of slots.
/// - `rate-limiter-py://BASE?region=..&endpoint=..`: rate-limiter-py's three tables, named by BASE,
///   or by the environment if the URL has no BASE (rate_limiter_py/tables_url.h). The tables must
///   exist.
///
/// The store owns the threads that it needs: it must not be closed or destroyed on one of them, nor
/// in a callback. Closing and destroying it wait for the calls in flight
/// (store/reservation/closing_reservations.h). `clock` must outlive it, and must be a real clock
/// for tables.
///
/// `log`, which must outlive the store, gets the events of the calls on AWS; with null, none are
/// written.
///
/// Returns kInvalidArgument, naming the valid forms, if `url` is not such a URL. Other errors are
/// those of LocateService or of OpenFileReservations.
[[nodiscard]] WEIR_API Result<std::unique_ptr<ReservationBackend>> OpenReservations(
    std::string_view url, const Clock& clock, const HostEnvironment& environment,
    Log* log = nullptr);

}  // namespace weir
