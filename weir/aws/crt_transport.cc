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

  void Send(HttpRequest request, Deadline deadline, HttpDone done) override {
    std::optional<nanoseconds> left;
    if (!deadline.is_never()) left = deadline.Left(clock_.Now());
    internal::CrtExchange::Start(*pool_, std::move(request), left, std::move(done));
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
