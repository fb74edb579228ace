// A TCP connection as a stream of bytes, with or without TLS. No call blocks.
#pragma once

#include <openssl/ssl.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "weir/aws/http/socket_address.h"
#include "weir/base/result.h"

namespace weir::internal {

template <auto Free>
struct OpenSslDeleter {
  template <class T>
  void operator()(T* object) const {
    Free(object);
  }
};
using TlsContext = std::unique_ptr<SSL_CTX, OpenSslDeleter<&SSL_CTX_free>>;

/// Owns a socket. Not thread-safe. SIGPIPE is never raised.
class ByteStream {
 public:
  enum class State { kOk, kBlocked, kEnded, kFailed };
  /// The outcome of a read or write. kBlocked: retry when the descriptor is readable or writable.
  /// kEnded: the peer has closed the connection. kFailed: see why().
  struct Moved {
    State state = State::kOk;
    std::size_t bytes = 0;  ///< with kOk, at least 1
  };

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
  State Handshake();

  Moved Write(std::string_view bytes);
  Moved Read(std::span<char> into);
  /// Returns whether the connection is open and the peer has sent no unread data. With TLS, a byte
  /// of data is lost if the result is false.
  bool IsQuiet();
  /// Ends the connection. The descriptor stays open and becomes readable, with nothing to read.
  void Shut();
  /// Returns whether the system has accepted bytes, including those of TLS, since sent() was
  /// `mark`.
  bool SentSince(std::uint64_t mark) const { return sent_ > mark; }
  std::uint64_t sent() const { return sent_; }
  /// Returns the cause of the last failure, on one line.
  const std::string& why() const { return why_; }

 private:
  explicit ByteStream(int descriptor) : descriptor_(descriptor) {}
  Moved PlainWrite(std::string_view bytes);
  Moved PlainRead(std::span<char> into, int flags);
  /// Converts the result of an OpenSSL call.
  Moved MovedByTls(int result);
  /// Stores the text of this errno in why_ and returns kFailed.
  State FailedBy(int error);

  // The BIO through which OpenSSL reads from and writes to the socket.
  static BIO_METHOD* SocketMethod();
  static int BioWrite(BIO* bio, const char* bytes, int count);
  static int BioRead(BIO* bio, char* into, int count);
  static long BioControl(BIO* bio, int command, long number, void* pointer);

  const int descriptor_;
  std::unique_ptr<SSL, OpenSslDeleter<&SSL_free>> tls_;
  std::uint64_t sent_ = 0;
  std::size_t overhead_ = 0;  ///< bytes that TLS has read since it last returned data
  std::string why_;
};

}  // namespace weir::internal
