// Makes one connection: TCP, and TLS if asked for.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "weir/aws/byte_stream.h"
#include "weir/aws/io_loop.h"
#include "weir/aws/socket_address.h"
#include "weir/base/result.h"
#include "weir/base/time.h"

struct aws_host_resolver;

namespace weir::internal {

using Addresses = Result<std::vector<SocketAddress>>;

/// `done` runs on any thread, perhaps before this returns: with one address at least, or
/// kUnavailable. An address in figures is not looked up.
void Resolve(aws_host_resolver& resolver, const std::string& host, std::uint16_t port,
             std::move_only_function<void(Addresses)> done);

struct ConnectorOptions {
  std::string host;
  SSL_CTX* tls = nullptr;  ///< null: none
  nanoseconds patience{};  ///< for TCP with all addresses, and again for the handshake
};

/// Everything happens on the loop's thread, the destructor included.
class Connector final : public IoHandler, public std::enable_shared_from_this<Connector> {
 public:
  /// A stream that is ready, not watched by the loop any more; or kUnavailable.
  using Done = std::move_only_function<void(Result<std::unique_ptr<ByteStream>>)>;

  /// All must outlive it. `addresses` are tried in turn; REQUIRES: one at least.
  Connector(IoLoop& loop, const Clock& clock, const ConnectorOptions& options,
            std::vector<SocketAddress> addresses, Done done);

  /// `done` may run before this returns, as with the others.
  void Begin();
  void OnReady() override;
  /// When to call OnLimit.
  Instant limit() const { return limit_; }
  void OnLimit();
  void Cancel();
  bool is_over() const { return done_ == nullptr; }

 private:
  /// With the next address; ends if none is left.
  void Connect();
  void TryNext(const std::string& why);
  void Shake();
  void End(Result<std::unique_ptr<ByteStream>> result);

  IoLoop& loop_;
  const Clock& clock_;
  const ConnectorOptions& options_;
  std::vector<SocketAddress> addresses_;  ///< those not tried yet, the next one last
  const nanoseconds each_;                ///< for one address
  Done done_;                             ///< null once it ran
  std::unique_ptr<ByteStream> stream_;
  bool shakes_ = false;
  Instant limit_{INT64_MAX};
};

}  // namespace weir::internal
