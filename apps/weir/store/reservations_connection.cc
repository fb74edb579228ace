// Opens the store of the verbs on reservations.
#include <fmt/format.h>

#include "apps/weir/commands/reservation_verbs.h"
#include "weir/backends/open_reservations.h"

namespace weir::app {
namespace {

// Recognizes DynamoDB's error by its message.
bool IsMissingTable(const Error& error) {
  return error.code == Code::kNotFound &&
         error.message.find("ResourceNotFoundException") != std::string::npos;
}

Error NoSlotsOfStack(Context& context, const StoreChoice& choice) {
  context.failure = Exit::kUsage;
  return {
      Code::kInvalidArgument,
      fmt::format("ZAEL_STACK names the store '{}': a table of zae-limiter stores no slots; name "
                  "another store with --store or WEIR_STORE: sqlite:PATH or "
                  "rate-limiter-py://BASE",
                  choice.url)};
}

}  // namespace

Result<Exit> WithReservationsOfStore(Context& context, const ReservationsWork& work) {
  const ProcessContext& process = context.process();
  context.for_reservations = true;
  WEIR_RETURN_IF_ERROR(context.StoreUrl(context.reservation_access));
  // Slots are stored in a file of their own, which may exist without the store's file.
  WEIR_ASSIGN_OR_RETURN(const StoreChoice choice, context.Store());
  const auto backend =
      OpenReservations(choice.url, process.clock, HostEnvironmentOf(process), &context.log());
  if (!backend) {
    if (choice.source == StoreSource::kStack) return Fail(NoSlotsOfStack(context, choice));
    if (backend.error().code == Code::kInvalidArgument) context.failure = Exit::kUsage;
    return Fail(context.OfStore(backend.error()));
  }
  Result<Exit> done = work({.backend = **backend, .scheduler = process.scheduler});
  if (done || !IsMissingTable(done.error())) return done;
  return Fail(done.error().code,
              fmt::format("{}: one of them does not exist; weir --store '{}' table create creates "
                          "them: {}",
                          (*backend)->Describe(), choice.url, done.error().message));
}

}  // namespace weir::app
