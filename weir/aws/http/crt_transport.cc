#include "weir/aws/http/crt_transport.h"

#include <fmt/format.h>

#include <utility>

#include "weir/aws/http/crt/crt_exchange.h"
#include "weir/aws/http/crt/crt_pool.h"
#include "weir/aws/http/crt/crt_proxy.h"
#include "weir/aws/http/socket_transport.h"

namespace weir {
namespace {

class CrtTransport final : public HttpTransport {
 public:
  CrtTransport(const Clock& clock, std::unique_ptr<internal::CrtPool> pool)
      : clock_(clock), pool_(std::move(pool)) {}

  void Send(HttpRequest request, SendLimits limits, HttpDone done) override {
    const Instant now = clock_.Now();
    const internal::ExchangeTimes times = {.begin = limits.LatestBegin().Left(now),
                                           .response = limits.response_timeout,
                                           .all = limits.deadline.Left(now)};
    internal::CrtExchange::Start(*pool_, std::move(request), times, std::move(done));
  }

 private:
  const Clock& clock_;
  const std::unique_ptr<internal::CrtPool> pool_;
};

Status CheckOptions(const TransportOptions& options) {
  // AWS's connection manager takes 0 for "no bound".
  const bool bounded = options.max_connections > 0 && options.max_waiting > 0;
  if (!options.host.empty() && bounded) return {};
  return Fail(
      Code::kInvalidArgument,
      fmt::format("HTTP endpoint '{}:{}' with {} connections and {} waiting: give a host "
                  "name and at least one of each",
                  options.host, options.port, options.max_connections, options.max_waiting));
}

}  // namespace

Result<std::unique_ptr<HttpTransport>> internal::MakeCrtTransport(const CrtRuntime& runtime,
                                                                  const Clock& clock,
                                                                  const TransportOptions& options) {
  WEIR_RETURN_IF_ERROR(CheckOptions(options));
  WEIR_ASSIGN_OR_RETURN(auto pool, CrtPool::Open(runtime, options));
  return std::make_unique<CrtTransport>(clock, std::move(pool));
}

Result<std::unique_ptr<HttpTransport>> MakeTransport(const CrtRuntime& runtime, const Clock& clock,
                                                     const TransportOptions& options) {
  WEIR_RETURN_IF_ERROR(CheckOptions(options));
  if (internal::MayUseProxy(options)) return internal::MakeCrtTransport(runtime, clock, options);
  return internal::SocketTransport::Open(runtime, clock, options);
}

}  // namespace weir
