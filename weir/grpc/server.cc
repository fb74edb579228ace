#include "weir/grpc/server.h"

#include <utility>

namespace weir::grpc {
namespace {

/// An HTTP/2 connection and the context of its streams.
class GrpcConnection final : public transport::Connection {
 public:
  GrpcConnection(const ServerTerms& terms, ServerCounts& counts,
                 transport::ConnectionContext context)
      : streams_{.methods = terms.methods,
                 .bounds = terms.calls,
                 .counts = counts.calls,
                 .loop = context.loop,
                 .calls = std::make_shared<ConnectionCalls>()},
        http2_(
            terms.connection,
            [this](http2::StreamWriter writer) {
              return std::make_unique<GrpcStream>(streams_, writer);
            },
            counts.connections, std::move(context.changed), context.loop.clock().Now()) {}

  void Receive(std::string_view bytes, Instant now) override { http2_.Receive(bytes, now); }
  std::string_view Output() override { return http2_.Output(); }
  void OnSent(std::size_t count, Instant now) override { http2_.OnSent(count, now); }
  void OnPeerClosed(Instant now) override { http2_.OnPeerClosed(now); }
  Instant wake() const override { return http2_.wake(); }
  void OnTime(Instant now) override { http2_.OnTime(now); }
  void Drain(Instant now) override { http2_.Drain(now); }
  bool IsDone() const override { return http2_.IsDone(); }
  bool IsCut() const override { return http2_.IsCut(); }

 private:
  const StreamContext streams_;
  http2::ServerConnection http2_;
};

}  // namespace

std::unique_ptr<transport::Connection> ServeConnection(const ServerTerms& terms,
                                                       ServerCounts& counts,
                                                       transport::ConnectionContext context) {
  return std::make_unique<GrpcConnection>(terms, counts, std::move(context));
}

}  // namespace weir::grpc
