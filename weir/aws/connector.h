// Makes one connection: TCP, and TLS if asked for.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "weir/aws/byte_stream.h"
#include "weir/aws/dead_addresses.h"
#include "weir/aws/io_loop.h"
#include "weir/aws/socket_address.h"
#include "weir/base/mutex.h"
#include "weir/base/result.h"
#include "weir/base/time.h"

struct aws_host_resolver;

namespace weir::internal {

using Addresses = Result<std::vector<SocketAddress>>;

/// The number of addresses of a host that are tried.
inline constexpr std::size_t kMostAddresses = 3;
/// What an address has before the next one is tried in parallel (RFC 8305, 5).
inline constexpr nanoseconds kHeadStart = milliseconds(250);

/// `done` runs on any thread, perhaps before this returns: with 1 to kMostAddresses addresses, in
/// the order in which to try them, or kUnavailable. An address in figures is not looked up.
void Resolve(aws_host_resolver& resolver, const std::string& host, std::uint16_t port,
             std::move_only_function<void(Addresses)> done);

/// Lets the destructor of a transport end without waiting for the system's resolver.
struct LookupGate {
  Mutex mutex;
  IoLoop* loop WEIR_GUARDED_BY(mutex) = nullptr;  ///< null: closed
};

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

  struct HostEnvironment {
    IoLoop& loop;
    const Clock& clock;
    DeadAddresses& dead;
  };

  /// All must outlive it. `addresses` are tried in turn, those that are dead at last; each has a
  /// head start before the next. REQUIRES: one at least.
  Connector(HostEnvironment around, const ConnectorOptions& options,
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
  struct Try {
    SocketAddress address;
    std::unique_ptr<ByteStream> stream;
  };

  /// The next address; ends if none is left and none is being tried. `why` the last one failed.
  void TryNext(std::string why);
  std::string Begin(const SocketAddress& address);
  void Drop(std::size_t index);
  void Take(std::size_t index);
  void Shake();
  void End(Result<std::unique_ptr<ByteStream>> result);

  const HostEnvironment around_;
  const ConnectorOptions& options_;
  std::vector<SocketAddress> addresses_;  ///< those not tried yet, the next one last
  std::vector<Try> tries_;                ///< in the order in which they were begun
  Done done_;                             ///< null once it ran
  std::unique_ptr<ByteStream> stream_;    ///< with TCP made
  bool shakes_ = false;
  Instant end_{INT64_MAX};  ///< of TCP
  Instant limit_{INT64_MAX};
};

}  // namespace weir::internal
