// Makes one connection: TCP, and TLS if requested.
//
//   Begin --> connecting --UseAttempt--> handshake --Complete--> over
//
// While connecting, several addresses may be tried in parallel: StartNextAttempt starts the next
// one when the head start of the last one has passed (OnTime) or an attempt has failed (OnReady).
// Without TLS there is no handshake. Each state may end in an error.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "weir/aws/http/byte_stream.h"
#include "weir/aws/http/dead_addresses.h"
#include "weir/aws/http/io_loop.h"
#include "weir/aws/http/socket_address.h"
#include "weir/base/mutex.h"
#include "weir/base/result.h"
#include "weir/base/time.h"

struct aws_host_resolver;

namespace weir::internal {

using Addresses = Result<std::vector<SocketAddress>>;

/// The largest number of addresses of a host that are tried.
inline constexpr std::size_t kMaxAddresses = 3;
/// The time after which the next address is tried in parallel (RFC 8305, section 5).
inline constexpr nanoseconds kHeadStart = milliseconds(250);

/// Looks up the addresses of a host. `done` runs on any thread, possibly before this returns, with
/// 1 to kMaxAddresses addresses in the order in which to try them, or with kUnavailable. A numeric
/// address is not looked up.
void Resolve(aws_host_resolver& resolver, const std::string& host, std::uint16_t port,
             std::move_only_function<void(Addresses)> done);

/// Allows the destructor of a transport to return without waiting for the system's resolver:
/// results that arrive after the gate is closed are discarded.
struct LookupGate {
  Mutex mutex;
  IoLoop* loop WEIR_GUARDED_BY(mutex) = nullptr;  ///< null: closed
};

struct ConnectorOptions {
  std::string host;
  SSL_CTX* tls = nullptr;  ///< null: no TLS
  nanoseconds patience{};  ///< time limit of TCP for all addresses, and again of the handshake
};

/// All calls, including the destructor, are made on the loop's thread.
class Connector final : public IoHandler, public std::enable_shared_from_this<Connector> {
 public:
  /// Receives a stream that is ready for use and no longer watched by the loop; or kUnavailable, or
  /// kCancelled after Cancel.
  using Done = std::move_only_function<void(Result<std::unique_ptr<ByteStream>>)>;

  struct Context {
    IoLoop& loop;
    const Clock& clock;
    DeadAddresses& dead_addresses;
  };

  /// All arguments must outlive the connector. `addresses` are tried in turn, each with a head
  /// start before the next; dead addresses come last. REQUIRES: at least one address.
  Connector(Context context, const ConnectorOptions& options, std::vector<SocketAddress> addresses,
            Done done);

  /// Starts. `done` may run before this returns; the same holds for OnReady, OnTime and Cancel.
  void Begin();
  void OnReady() override;
  /// The time at which to call OnTime: the end of a head start, or a time limit.
  Instant wake() const { return wake_; }
  void OnTime();
  void Cancel();
  bool is_over() const { return done_ == nullptr; }

 private:
  struct Attempt {
    SocketAddress address;
    std::unique_ptr<ByteStream> stream;
  };

  /// Starts the next attempt that can be started. If no address is left and no attempt is in
  /// progress, completes with the cause of the last failed start; `why` if there was none.
  void StartNextAttempt(std::string why);
  /// Starts one attempt. Returns the cause if it cannot be started, else an empty text.
  std::string StartAttempt(const SocketAddress& address);
  /// Ends one attempt.
  void EndAttempt(std::size_t index);
  /// Uses the attempt that has connected, ends the others, and starts the handshake, if any.
  void UseAttempt(std::size_t index);
  /// Continues the handshake.
  void ContinueHandshake();
  /// Runs `done` with the result.
  void Complete(Result<std::unique_ptr<ByteStream>> result);

  const Context context_;
  const ConnectorOptions& options_;
  std::vector<SocketAddress> addresses_;  ///< not tried yet; the next one is the last element
  std::vector<Attempt> attempts_;         ///< in the order of their start
  Done done_;                             ///< null once it has run
  std::unique_ptr<ByteStream> stream_;    ///< connected by TCP; the handshake is in progress
  bool in_handshake_ = false;
  Instant tcp_end_{INT64_MAX};  ///< the time limit of TCP
  Instant wake_{INT64_MAX};
};

}  // namespace weir::internal
