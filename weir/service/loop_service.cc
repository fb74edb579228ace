#include "weir/service/loop_service.h"

#include <utility>

#include "weir/service/reflection_service.h"

namespace weir::service {

LoopService::LoopService(const Terms& terms, std::uint64_t seed)
    : rate_limits_(terms.limiter, terms.counts, terms.log, terms.service),
      server_counts_(terms.server_counts),
      connection_(terms.connection),
      age_jitter_(terms.age_jitter),
      server_terms_{.methods = methods_, .connection = terms.connection, .calls = terms.calls},
      rng_(seed) {
  rate_limits_.AddTo(methods_);
  AddReflection(methods_);
  health_.AddTo(methods_);
}

std::unique_ptr<transport::Connection> LoopService::Serve(transport::ConnectionContext context) {
  if (connection_.age > nanoseconds(0) && age_jitter_ > nanoseconds(0)) {
    server_terms_.connection.age =
        connection_.age + nanoseconds(rng_.Between(0, age_jitter_.count()));
  }
  return grpc::ServeConnection(server_terms_, server_counts_, std::move(context));
}

}  // namespace weir::service
