#include "weir/aws/crt_transport.h"

#include <utility>

#include "weir/aws/crt_exchange.h"
#include "weir/aws/crt_pool.h"

namespace weir {
namespace {

class CrtTransport final : public HttpTransport {
 public:
  CrtTransport(const Clock& clock, std::unique_ptr<internal::CrtPool> pool)
      : clock_(clock), pool_(std::move(pool)) {}

  void Send(HttpRequest request, SendLimits limits, HttpDone done) override {
    const Instant now = clock_.Now();
    const internal::ExchangeTimes times = {.begin = limits.LatestBegin().Left(now),
                                           .answer = limits.answer_within,
                                           .all = limits.deadline.Left(now)};
    internal::CrtExchange::Start(*pool_, std::move(request), times, std::move(done));
  }

 private:
  const Clock& clock_;
  const std::unique_ptr<internal::CrtPool> pool_;
};

}  // namespace

Result<std::unique_ptr<HttpTransport>> MakeTransport(const CrtRuntime& runtime, const Clock& clock,
                                                     const TransportOptions& options) {
  WEIR_ASSIGN_OR_RETURN(auto pool, internal::CrtPool::Open(runtime, options));
  return std::make_unique<CrtTransport>(clock, std::move(pool));
}

}  // namespace weir
