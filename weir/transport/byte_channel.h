// The bytes of an accepted socket, with or without TLS. No call blocks.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "weir/sockets/socket_bytes.h"

namespace weir::transport {

/// Reads and writes a socket that it does not own. Not thread-safe. SIGPIPE is never raised.
class ByteChannel {
 public:
  using State = sockets::SocketBytes::State;
  using Moved = sockets::SocketBytes::Moved;

  explicit ByteChannel(int fd) : fd_(fd), bytes_(fd, "client") {}

  /// Switches to TLS; Handshake must succeed before the first byte.
  void BeginTls(sockets::TlsState tls);
  /// Continues the handshake. kBlocked: call again when the socket is readable, or writable if
  /// handshake_writes().
  State Handshake() { return bytes_.Handshake(); }
  bool handshake_writes() const { return SSL_want_write(bytes_.tls()); }
  bool is_tls() const { return bytes_.tls() != nullptr; }
  /// Returns the protocol that ALPN has chosen, or an empty text.
  std::string_view protocol() const;
  /// Returns the subject of the verified certificate of the client (RFC 2253), or an empty text.
  std::string certificate_name() const;

  /// Fills `into` as far as bytes are available.
  Moved Read(std::span<char> into);
  /// Returns whether Read must be called again without waiting for the socket: the last Read left
  /// bytes, an end or a failure that the socket may not announce.
  bool has_more() const { return has_more_; }
  /// See SocketBytes::Write.
  Moved Write(std::string_view bytes) { return bytes_.Write(bytes); }
  /// Announces that no byte will be written any more.
  void EndWrites();
  /// Returns the cause of the last failure, on one line.
  const std::string& why() const { return bytes_.why(); }

 private:
  const int fd_;
  sockets::SocketBytes bytes_;
  bool has_more_ = false;
};

}  // namespace weir::transport
