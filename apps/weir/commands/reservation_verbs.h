// The verbs on reservations: slots, accounts' limits, accounts' tokens.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "apps/weir/verbs.h"
#include "weir/runtime/scheduler.h"
#include "weir/store/reservation/reservation_backend.h"

namespace weir::app {

/// A store of slots. Both members outlive the work.
struct OpenedReservations {
  ReservationBackend& backend;
  Scheduler& scheduler;
};

using ReservationsWork = std::function<Result<Exit>(const OpenedReservations&)>;
/// Opens the store that --store or the environment names and calls the work. Blocks.
using WithReservations = std::function<Result<Exit>(Context&, const ReservationsWork&)>;

/// Opens the store of ChooseReservationStore.
Result<Exit> WithReservationsOfStore(Context& context, const ReservationsWork& work);

/// Returns the function for AddVerb that opens the store and calls `run(options, context, opened)`.
template <class Options>
auto OnReservations(const WithReservations& with_reservations,
                    Result<Exit> (*run)(const Options&, Context&, const OpenedReservations&)) {
  return [with_reservations, run](const Options& given, Context& context) {
    return with_reservations(
        context, [&](const OpenedReservations& opened) { return run(given, context, opened); });
  };
}

/// Adds the positionals RESOURCE and ACCOUNT.
void AddAccount(CLI::App& verb, AccountKey& key);

/// See verbs.h. `with_reservations` is called when a verb runs.
void AddReserve(CLI::App& app, Action& chosen, const WithReservations& with_reservations);
void AddReservation(CLI::App& app, Action& chosen, const WithReservations& with_reservations);
void AddReservationEvents(CLI::App& group, Action& chosen,
                          const WithReservations& with_reservations);
void AddTokens(CLI::App& app, Action& chosen, const WithReservations& with_reservations);
void AddLimits(CLI::App& app, Action& chosen, const WithReservations& with_reservations);
void AddLimitsLoad(CLI::App& group, Action& chosen, const WithReservations& with_reservations);
void AddLoadLimits(CLI::App& group, Action& chosen, const WithReservations& with_reservations);

}  // namespace weir::app
