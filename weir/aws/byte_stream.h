// A connection as a stream of bytes, with or without TLS, that never blocks.
#pragma once

#include <openssl/ssl.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "weir/aws/socket_address.h"
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
  struct Moved {
    State state = State::kOk;
    std::size_t bytes = 0;  ///< with kOk, at least 1
  };

  /// Begins to connect. kUnavailable: the system gives no socket, or the address is unreachable.
  static Result<std::unique_ptr<ByteStream>> Connect(const SocketAddress& address);
  ~ByteStream();
  ByteStream(const ByteStream&) = delete;
  ByteStream& operator=(const ByteStream&) = delete;

  int descriptor() const { return descriptor_; }
  /// Once the socket is writable: whether it is connected. kBlocked: not yet.
  State FinishConnect();
  /// From here on everything is encrypted; the server must prove to be `host`, if the context
  /// verifies. kInvalidArgument: `host` cannot be named in TLS.
  Status BeginTls(SSL_CTX& context, const std::string& host);
  /// kBlocked: again when there is something to read or room to write.
  State Handshake();

  Moved Write(std::string_view bytes);
  Moved Read(std::span<char> into);
  /// Open, and the peer has sent nothing that was not read.
  bool IsQuiet();
  /// Ends the connection. The descriptor stays open, readable and of no further use.
  void Shut();
  /// Of the bytes that the system has taken, whether any is behind this mark.
  bool SentSince(std::uint64_t mark) const { return sent_ > mark; }
  std::uint64_t sent() const { return sent_; }
  /// Why the last step failed, on one line.
  const std::string& why() const { return why_; }

 private:
  explicit ByteStream(int descriptor) : descriptor_(descriptor) {}
  Moved PlainWrite(std::string_view bytes);
  Moved PlainRead(std::span<char> into, int flags);
  Moved MovedByTls(int result);
  State FailedBy(int error);

  // What OpenSSL calls to write and read.
  static BIO_METHOD* SocketMethod();
  static int BioWrite(BIO* bio, const char* bytes, int count);
  static int BioRead(BIO* bio, char* into, int count);
  static long BioControl(BIO* bio, int command, long number, void* pointer);

  const int descriptor_;
  std::unique_ptr<SSL, OpenSslDeleter<&SSL_free>> tls_;
  std::uint64_t sent_ = 0;
  std::size_t overhead_ = 0;  ///< bytes that TLS has read since it last gave some of them out
  std::string why_;
};

}  // namespace weir::internal
