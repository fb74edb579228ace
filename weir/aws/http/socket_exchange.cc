#include "weir/aws/http/socket_exchange.h"

#include <fmt/format.h>

namespace weir::internal {

HttpFailure FailureOf(const HttpRequest& request, std::string_view endpoint, bool maybe_sent,
                      std::string_view why) {
  return {.maybe_sent = maybe_sent,
          .message = fmt::format("{} {}: {}", request.method, endpoint, why)};
}

HttpFailure TimeOutOf(const HttpRequest& request, std::string_view endpoint, bool maybe_sent) {
  HttpFailure failure = FailureOf(request, endpoint, maybe_sent,
                                  maybe_sent ? "no response in time" : "no connection in time");
  failure.timed_out = true;
  return failure;
}

}  // namespace weir::internal
