// A server of the rate limit services: event loops, listeners, and the services of each loop.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "weir/base/result.h"
#include "weir/grpc/server_bounds.h"
#include "weir/http2/bounds.h"
#include "weir/limiter/limiter.h"
#include "weir/rules/rule_set.h"
#include "weir/service/rate_limit_service.h"
#include "weir/telemetry/log.h"
#include "weir/telemetry/registry.h"
#include "weir/transport/drain_result.h"
#include "weir/transport/server_options.h"

namespace weir::service {

struct RateLimitServerOptions {
  std::size_t threads = 1;  ///< event loops
  transport::ServerOptions grpc;
  transport::ServerOptions admin;  ///< without addresses there is no admin listener
  http2::ConnectionBounds connection;
  /// A random time up to this is added to the maximum age of each connection, so that connections
  /// that began together do not end together.
  nanoseconds age_jitter{0};
  grpc::ServerBounds calls;
  ServiceOptions service;
};

/// Blocking calls must not be made on the loops' threads. The limiter, the clock, the registry and
/// the log must outlive the server. The registry must not be read after the server was destroyed.
class RateLimitServer {
 public:
  /// `log` receives the events of transport::Server.
  RateLimitServer(Limiter& limiter, const Clock& clock, const RateLimitServerOptions& options,
                  Log& log);
  /// Cuts the connections that are still open. REQUIRES: no decision is in flight (IsIdle), or the
  /// store is closed.
  ~RateLimitServer();
  RateLimitServer(const RateLimitServer&) = delete;
  RateLimitServer& operator=(const RateLimitServer&) = delete;

  /// Opens the listeners without serving, so that a caller knows that the service can listen before
  /// it makes its other preparations. Errors are those of transport::Server::Listen; after one,
  /// only the destructor may be called. To be called at most once, before Start.
  [[nodiscard]] Status Listen();
  /// Calls Listen unless it was called, and begins to serve. If `tokens` is null, requests and
  /// pages need no token. To be called once.
  [[nodiscard]] Status Start(rules::RuleSet rules, const AccessTokensPtr& tokens = nullptr);
  /// Requests that begin afterwards use these rules. Any thread.
  void SetRules(rules::RuleSet rules);
  /// Requests that begin afterwards need one of these tokens. Any thread.
  void SetTokens(const AccessTokensPtr& tokens);
  [[nodiscard]] Status ReloadTls();
  /// Reports NOT_SERVING, serves the requests that are in progress, and returns when all
  /// connections have ended, at the deadline at the latest. To be called once.
  [[nodiscard]] Result<transport::DrainResult> Drain(Deadline deadline);
  /// Returns whether no decision is in flight in the store.
  bool IsIdle() const;

  std::vector<std::string> grpc_addresses() const;
  std::vector<std::string> admin_addresses() const;
  /// Adds the metrics of the server and of its rules (docs/design/metrics.md). To be called once.
  [[nodiscard]] Status RegisterMetrics(Registry& registry) const;
  /// /metrics shows this registry, which must live until the server is gone.
  void ExportMetrics(const Registry& registry);

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace weir::service
