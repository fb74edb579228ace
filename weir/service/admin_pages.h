// The pages for operators: /metrics, /healthz and /readyz.
#pragma once

#include <atomic>

#include "weir/base/mutex.h"
#include "weir/base/time.h"
#include "weir/service/access_tokens.h"
#include "weir/service/request_log.h"
#include "weir/service/service_counts.h"
#include "weir/telemetry/registry.h"
#include "weir/transport/http1/admin_connections.h"

namespace weir::service {

/// What the pages show. Thread-safe.
class AdminState {
 public:
  /// The arguments must outlive the state. Refused tokens are counted and logged.
  AdminState(const Clock& clock, ServiceCounts& counts, RequestLog& log)
      : clock_(clock), counts_(counts), log_(log) {}

  std::atomic<bool> is_serving = false;
  /// Null: /metrics is empty. The registry must live until the handler is gone.
  std::atomic<const Registry*> registry = nullptr;

  /// Null: no token is needed.
  void SetTokens(AccessTokensPtr tokens) WEIR_EXCLUDES(mutex_);
  /// Returns whether the header allows more than the probes. Errors are those of
  /// AccessTokens::Check.
  [[nodiscard]] Status Check(std::string_view authorization) WEIR_EXCLUDES(mutex_);

 private:
  const Clock& clock_;
  ServiceCounts& counts_;
  RequestLog& log_;
  Mutex mutex_;
  AccessTokensPtr tokens_ WEIR_GUARDED_BY(mutex_);
};

/// `state` must outlive the handler. /healthz is 200 while the process runs, /readyz is 503 unless
/// the service serves; neither needs a token. /metrics needs a token with the scope kAdmin.
transport::AdminHandler AdminPages(AdminState& state);

}  // namespace weir::service
