// The verbs on what is reserved: slots, accounts' limits, accounts' tokens.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "apps/weir/verbs.h"
#include "weir/runtime/scheduler.h"
#include "weir/store/reservation_backend.h"

namespace weir::app {

/// A place where slots are kept. All of it outlives the work.
struct OpenedReservations {
  ReservationBackend& backend;
  Scheduler& scheduler;
};

/// Opens the place that --store or the environment names, and works with it. Blocks.
using ReservationsWork = std::function<Result<Exit>(const OpenedReservations&)>;
using WithReservations = std::function<Result<Exit>(Context&, const ReservationsWork&)>;

/// The place that ChooseReservationStore names.
Result<Exit> WithReservationsOfStore(Context& context, const ReservationsWork& work);

/// What AddVerb runs: `run(options, context, opened)` on the place.
template <class Options>
auto OnReservations(const WithReservations& with_reservations,
                    Result<Exit> (*run)(const Options&, Context&, const OpenedReservations&)) {
  return [with_reservations, run](const Options& given, Context& context) {
    return with_reservations(
        context, [&](const OpenedReservations& opened) { return run(given, context, opened); });
  };
}

/// RESOURCE and ACCOUNT.
void AddAccount(CLI::App& verb, AccountKey& key);

/// As verbs.h says. `with_reservations` is called when a verb runs.
void AddReserve(CLI::App& app, Action& chosen, const WithReservations& with_reservations);
void AddReservation(CLI::App& app, Action& chosen, const WithReservations& with_reservations);
void AddReservationEvents(CLI::App& group, Action& chosen,
                          const WithReservations& with_reservations);
void AddTokens(CLI::App& app, Action& chosen, const WithReservations& with_reservations);
void AddLimits(CLI::App& app, Action& chosen, const WithReservations& with_reservations);
void AddLimitsLoad(CLI::App& group, Action& chosen, const WithReservations& with_reservations);
void AddLoadLimits(CLI::App& group, Action& chosen, const WithReservations& with_reservations);

}  // namespace weir::app
