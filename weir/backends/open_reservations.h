// A place of slots, accounts' limits and accounts' tokens, by its URL.
#pragma once

#include <memory>
#include <string_view>

#include "weir/aws/service_location.h"
#include "weir/base/result.h"
#include "weir/base/time.h"
#include "weir/store/reservation_backend.h"
#include "weir/telemetry/log.h"

namespace weir {

/// `memory:`; `sqlite:PATH`, which is a file `PATH-reservations` that any number of processes may
/// have open; or `rate-limiter-py://BASE?region=..&endpoint=..`, rate-limiter-py's three tables,
/// named by BASE, or by the environment if the URL has none (rate_limiter_py/tables_url.h). They
/// must exist. The place owns the threads it needs: close and destroy it neither from one of them
/// nor from an answer; both wait for the calls in flight (store/closing_reservations.h). `clock`
/// must outlive it, and for tables must be a real one.
///
/// `log`, which must outlive the place, gets the events of the calls on AWS; null: none are
/// written.
///
/// kInvalidArgument for what is no such URL, naming what there is; a file has no namespaces of
/// slots. Else as LocateService, or as the file's opening.
[[nodiscard]] Result<std::unique_ptr<ReservationBackend>> OpenReservations(
    std::string_view url, const Clock& clock, const HostEnvironment& surroundings,
    Log* log = nullptr);

}  // namespace weir
