// The place that the verbs on what is reserved work with.
#include <fmt/format.h>

#include "apps/weir/reservation_verbs.h"
#include "weir/backends/open_reservations.h"

namespace weir::app {
namespace {

// rate-limiter-py's own variable names its tables, unless a store is named.
bool NamesTables(const World& world) {
  return !world.environment("LIMITER_TABLES_BASE_NAME").value_or("").empty();
}

bool IsNamed(const StoreChoice& choice) {
  return choice.source == StoreSource::kOption || choice.source == StoreSource::kEnvironment;
}

// As DynamoDB says it.
bool IsMissingTable(const Error& error) {
  return error.code == Code::kNotFound &&
         error.message.find("ResourceNotFoundException") != std::string::npos;
}

Result<std::string> UrlOf(const Context& context) {
  WEIR_ASSIGN_OR_RETURN(const StoreChoice choice, context.Store());
  if (!IsNamed(choice) && NamesTables(context.world())) return "dynamodb:";
  return UrlToOpen(choice, Access::kWrite);
}

}  // namespace

Result<Exit> WithReservationsOfStore(Context& context, const ReservationsWork& work) {
  const World& world = context.world();
  WEIR_ASSIGN_OR_RETURN(const std::string url, UrlOf(context));
  const auto backend = OpenReservations(url, world.clock, SurroundingsOf(world));
  if (!backend) {
    if (backend.error().code == Code::kInvalidArgument) context.failure = Exit::kUsage;
    return Fail(backend.error());
  }
  Result<Exit> done = work({.backend = **backend, .scheduler = world.scheduler});
  if (done || !IsMissingTable(done.error())) return done;
  return Fail(done.error().code,
              fmt::format("{}: one of them does not exist; 'weir table create --layout "
                          "rate-limiter-py' makes them: {}",
                          (*backend)->Describe(), done.error().message));
}

}  // namespace weir::app
