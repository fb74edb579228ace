// A TCP connection as a stream of bytes, with or without TLS. No call blocks.
#pragma once

#include <openssl/ssl.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "weir/aws/http/socket_address.h"
#include "weir/base/result.h"
#include "weir/sockets/socket_bytes.h"

namespace weir::internal {

/// Owns a socket. Not thread-safe. SIGPIPE is never raised.
class ByteStream {
 public:
  using State = sockets::SocketBytes::State;
  using Moved = sockets::SocketBytes::Moved;

  /// Begins to connect. Returns kUnavailable if the system has no socket or the address is
  /// unreachable.
  static Result<std::unique_ptr<ByteStream>> Connect(const SocketAddress& address);
  ~ByteStream();
  ByteStream(const ByteStream&) = delete;
  ByteStream& operator=(const ByteStream&) = delete;

  int descriptor() const { return descriptor_; }
  /// Returns whether the connection is established: kOk, kBlocked (not yet) or kFailed. To be
  /// called when the socket becomes writable.
  State FinishConnect();
  /// Switches to TLS: all later bytes are encrypted. If the context verifies, the server must prove
  /// to be `host`. Returns kInvalidArgument if `host` is not a valid name for TLS.
  Status BeginTls(SSL_CTX& context, const std::string& host);
  /// Continues the TLS handshake. kBlocked: call again when the descriptor is readable or writable.
  State Handshake() { return bytes_.Handshake(); }

  Moved Write(std::string_view bytes) { return bytes_.Write(bytes); }
  Moved Read(std::span<char> into) { return bytes_.Read(into); }
  /// Returns whether the connection is open and the peer has sent no unread data. With TLS, a byte
  /// of data is lost if the result is false.
  bool IsQuiet();
  /// Ends the connection. The descriptor stays open and becomes readable, with nothing to read.
  void Shut();
  /// Returns whether the system has accepted bytes, including those of TLS, since sent() was
  /// `mark`.
  bool SentSince(std::uint64_t mark) const { return sent() > mark; }
  std::uint64_t sent() const { return bytes_.sent(); }
  /// Returns the cause of the last failure, on one line.
  const std::string& why() const { return bytes_.why(); }

 private:
  explicit ByteStream(int descriptor) : descriptor_(descriptor), bytes_(descriptor, "server") {}

  const int descriptor_;
  sockets::SocketBytes bytes_;
};

}  // namespace weir::internal
