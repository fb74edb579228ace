// What one event loop of the server has: its services and the bounds of its connections.
#pragma once

#include <memory>

#include "weir/base/rng.h"
#include "weir/grpc/server.h"
#include "weir/service/health_service.h"
#include "weir/service/rate_limit_service.h"
#include "weir/service/request_log.h"
#include "weir/service/service_counts.h"

namespace weir::service {

/// Used on the loop's thread, apart from the constructor.
class LoopService {
 public:
  struct Terms {
    Limiter& limiter;
    ServiceCounts& counts;
    RequestLog& log;
    ServiceOptions service;
    http2::ConnectionBounds connection;
    nanoseconds age_jitter;
    grpc::ServerBounds calls;
    grpc::ServerCounts& server_counts;
  };

  LoopService(const Terms& terms, std::uint64_t seed);

  std::unique_ptr<transport::Connection> Serve(transport::ConnectionContext context);
  void SetRules(ActiveRulesPtr rules) { rate_limits_.SetRules(std::move(rules)); }
  void SetTokens(AccessTokensPtr tokens) { rate_limits_.SetTokens(std::move(tokens)); }
  void BeginServing() { health_.SetServing(true); }
  void EndServing() { health_.End(); }

 private:
  RateLimitService rate_limits_;
  HealthService health_;
  grpc::MethodTable methods_;
  grpc::ServerCounts& server_counts_;
  const http2::ConnectionBounds connection_;
  const nanoseconds age_jitter_;
  grpc::ServerTerms server_terms_;
  Rng rng_;
};

}  // namespace weir::service
