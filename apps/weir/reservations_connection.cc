// The place that the verbs on what is reserved work with.
#include "apps/weir/reservation_verbs.h"
#include "weir/backends/open_reservations.h"

namespace weir::app {
namespace {

// rate-limiter-py's own variable names its tables.
bool NamesTables(const World& world) {
  return !world.environment("LIMITER_TABLES_BASE_NAME").value_or("").empty();
}

Result<std::string> UrlOf(const Context& context) {
  if (!context.NamedStore() && NamesTables(context.world())) return "dynamodb:";
  return context.StoreUrl(Access::kWrite);
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
  return work({.backend = **backend, .scheduler = world.scheduler});
}

}  // namespace weir::app
