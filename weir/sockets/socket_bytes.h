// The bytes of a connected socket, with or without TLS. No call blocks.
#pragma once

#include <openssl/bio.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "weir/sockets/openssl_handles.h"

namespace weir::sockets {

/// Returns the text of an errno. Thread-safe.
std::string ErrnoText(int error);

/// Reads and writes a socket that it does not own. Not thread-safe. SIGPIPE is never raised.
class SocketBytes {
 public:
  enum class State { kOk, kBlocked, kEnded, kFailed };
  /// kBlocked: retry when the socket is readable (after Read) or writable (after Write). kEnded:
  /// the peer sends nothing more. kFailed: see why().
  struct Moved {
    State state = State::kOk;
    std::size_t bytes = 0;  ///< with kOk, at least 1
  };

  /// `peer`, such as "client", is the peer's name in why(), and must outlive this.
  SocketBytes(int fd, std::string_view peer) : fd_(fd), peer_(peer) {}
  SocketBytes(const SocketBytes&) = delete;
  SocketBytes& operator=(const SocketBytes&) = delete;

  /// Switches to TLS; Handshake must succeed before the first byte. `tls` says whether it accepts
  /// or connects.
  void BeginTls(TlsState tls);
  /// Returns null without TLS.
  SSL* tls() const { return tls_.get(); }
  /// Continues the handshake. kBlocked: call again when the socket is readable, or writable if
  /// OpenSSL wants to write.
  State Handshake();

  /// With TLS, returns at most one record.
  Moved Read(std::span<char> into);
  /// Writes a part of `bytes`. With TLS, a Write that was blocked must be repeated with a text that
  /// begins with the same bytes.
  Moved Write(std::string_view bytes);
  /// Returns how many bytes, including those of TLS, the system has accepted.
  std::uint64_t sent() const { return sent_; }
  /// Stores the text of this errno as the cause of a failure, and returns kFailed.
  State FailedBy(int error);
  /// Returns the cause of the last failure, on one line.
  const std::string& why() const { return why_; }

 private:
  Moved PlainWrite(std::string_view bytes);
  Moved PlainRead(std::span<char> into);
  /// Converts the result of an OpenSSL call.
  Moved MovedByTls(int result);
  Moved Ended();

  // The BIO through which OpenSSL reads from and writes to the socket.
  static BIO_METHOD* SocketMethod();
  static int BioWrite(BIO* bio, const char* bytes, int count);
  static int BioRead(BIO* bio, char* into, int count);
  static long BioControl(BIO* bio, int command, long number, void* pointer);

  const int fd_;
  const std::string_view peer_;
  TlsState tls_;
  std::uint64_t sent_ = 0;
  std::size_t overhead_ = 0;  ///< bytes that TLS has read since it last returned data
  std::string why_;
};

}  // namespace weir::sockets
