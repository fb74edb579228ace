#include "weir/aws/http/byte_stream.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <limits>

#include "weir/aws/http/keep_alive_probes.h"

namespace weir::internal {
namespace {

/// The most bytes that TLS may read without returning data. They are a handshake, whose
/// certificates OpenSSL bounds to 100 KB, or tickets and key updates, of which a hostile server can
/// send any number.
constexpr std::size_t kMostTlsOverhead = 256 * 1024;

void SetOptions(int descriptor) {
  const auto set = [descriptor](int level, int name, int value) {
    setsockopt(descriptor, level, name, &value, sizeof(value));
  };
  // A request may be two writes; the second must not be delayed until the first is acknowledged.
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, kProbeAfterSeconds);
  set(IPPROTO_TCP, TCP_KEEPINTVL, kProbeEverySeconds);
  set(IPPROTO_TCP, TCP_KEEPCNT, kMostFailedProbes);
}

std::string ErrorText(int error) {
  std::array<char, 128> text{};
  return strerror_r(error, text.data(), text.size());
}

/// Returns the first error of OpenSSL's error queue of this thread, and empties the queue.
std::string TlsErrorText() {
  std::array<char, 256> text{"TLS failed"};
  const unsigned long error = ERR_peek_error();
  if (error != 0) ERR_error_string_n(error, text.data(), text.size());
  ERR_clear_error();
  return text.data();
}

ByteStream& StreamOf(BIO* bio) { return *static_cast<ByteStream*>(BIO_get_data(bio)); }

/// OpenSSL's lengths are ints.
int IntOf(std::size_t count) {
  constexpr std::size_t kMost = std::numeric_limits<int>::max();
  return static_cast<int>(std::min(count, kMost));
}

}  // namespace

Result<std::unique_ptr<ByteStream>> ByteStream::Connect(const SocketAddress& address) {
  const int type = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
  const int descriptor = socket(address.address.ss_family, type, 0);
  if (descriptor < 0) return Fail(Code::kUnavailable, ErrorText(errno));
  std::unique_ptr<ByteStream> stream(new ByteStream(descriptor));
  SetOptions(descriptor);
  if (connect(descriptor, address.get(), address.size) == 0 || errno == EINPROGRESS) return stream;
  return Fail(Code::kUnavailable, ErrorText(errno));
}

ByteStream::~ByteStream() { close(descriptor_); }

ByteStream::State ByteStream::FinishConnect() {
  int error = 0;
  socklen_t size = sizeof(error);
  getsockopt(descriptor_, SOL_SOCKET, SO_ERROR, &error, &size);
  if (error != 0) return FailedBy(error);
  sockaddr_storage peer{};
  size = sizeof(peer);
  // Without an error and without a peer, the connection is still being made.
  const bool connected = getpeername(descriptor_, reinterpret_cast<sockaddr*>(&peer), &size) == 0;
  return connected ? State::kOk : State::kBlocked;
}

ByteStream::State ByteStream::FailedBy(int error) {
  why_ = ErrorText(error);
  return State::kFailed;
}

// An address must be in the certificate like a name, but cannot be sent as the server name.
Status ByteStream::BeginTls(SSL_CTX& context, const std::string& host) {
  tls_.reset(SSL_new(&context));
  BIO* const bio = BIO_new(SocketMethod());
  BIO_set_data(bio, this);
  BIO_set_init(bio, 1);
  SSL_set_bio(tls_.get(), bio, bio);
  SSL_set_connect_state(tls_.get());
  SSL_set_hostflags(tls_.get(), X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  const bool is_address = ParseAddress(host, 0).has_value();
  const bool named =
      is_address ? X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(tls_.get()), host.c_str()) == 1
                 : SSL_set1_host(tls_.get(), host.c_str()) == 1 &&
                       SSL_set_tlsext_host_name(tls_.get(), host.c_str()) == 1;
  if (named) return {};
  return Fail(Code::kInvalidArgument, fmt::format("'{}' is no name of a host for TLS", host));
}

ByteStream::State ByteStream::Handshake() {
  ERR_clear_error();
  const int result = SSL_do_handshake(tls_.get());
  const State state = MovedByTls(result).state;
  if (state == State::kOk) overhead_ = 0;
  const long verified = SSL_get_verify_result(tls_.get());
  if (state == State::kFailed && verified != X509_V_OK) {
    why_ += fmt::format(": {}", X509_verify_cert_error_string(verified));
  }
  return state;
}

ByteStream::Moved ByteStream::Write(std::string_view bytes) {
  if (tls_ == nullptr) return PlainWrite(bytes);
  ERR_clear_error();
  return MovedByTls(SSL_write(tls_.get(), bytes.data(), IntOf(bytes.size())));
}

ByteStream::Moved ByteStream::Read(std::span<char> into) {
  if (tls_ == nullptr) return PlainRead(into, 0);
  ERR_clear_error();
  const Moved moved = MovedByTls(SSL_read(tls_.get(), into.data(), IntOf(into.size())));
  if (moved.state == State::kOk) overhead_ = 0;
  return moved;
}

bool ByteStream::IsQuiet() {
  std::array<char, 1> byte{};
  // Messages of TLS itself between responses, such as tickets, are read here and do not count.
  if (tls_ != nullptr) return Read(byte).state == State::kBlocked;
  return PlainRead(byte, MSG_PEEK).state == State::kBlocked;
}

void ByteStream::Shut() { shutdown(descriptor_, SHUT_RDWR); }

ByteStream::Moved ByteStream::PlainWrite(std::string_view bytes) {
  const ssize_t count = send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (count >= 0) {
    sent_ += static_cast<std::uint64_t>(count);
    return {State::kOk, static_cast<std::size_t>(count)};
  }
  if (errno == EAGAIN || errno == EINTR) return {State::kBlocked};
  return {FailedBy(errno)};
}

ByteStream::Moved ByteStream::PlainRead(std::span<char> into, int flags) {
  const ssize_t count = recv(descriptor_, into.data(), into.size(), flags);
  if (count > 0) return {State::kOk, static_cast<std::size_t>(count)};
  if (count == 0) {
    why_ = "the server closed the connection";
    return {State::kEnded};
  }
  if (errno == EAGAIN || errno == EINTR) return {State::kBlocked};
  return {FailedBy(errno)};
}

ByteStream::Moved ByteStream::MovedByTls(int result) {
  if (result > 0) return {State::kOk, static_cast<std::size_t>(result)};
  switch (SSL_get_error(tls_.get(), result)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
      return {State::kBlocked};
    case SSL_ERROR_ZERO_RETURN:
      why_ = "the server closed the connection";
      return {State::kEnded};
    default:
      // If the queue is empty, the socket failed, and PlainRead or PlainWrite has set why_.
      if (const std::string text = TlsErrorText(); why_.empty()) why_ = text;
      return {State::kFailed};
  }
}

BIO_METHOD* ByteStream::SocketMethod() {
  struct Free {
    void operator()(BIO_METHOD* method) const { BIO_meth_free(method); }
  };
  static const std::unique_ptr<BIO_METHOD, Free> method = [] {
    std::unique_ptr<BIO_METHOD, Free> made(BIO_meth_new(BIO_get_new_index(), "weir socket"));
    BIO_meth_set_write(made.get(), &ByteStream::BioWrite);
    BIO_meth_set_read(made.get(), &ByteStream::BioRead);
    BIO_meth_set_ctrl(made.get(), &ByteStream::BioControl);
    return made;
  }();
  return method.get();
}

int ByteStream::BioWrite(BIO* bio, const char* bytes, int count) {
  BIO_clear_retry_flags(bio);
  const Moved moved = StreamOf(bio).PlainWrite({bytes, static_cast<std::size_t>(count)});
  if (moved.state == State::kBlocked) BIO_set_retry_write(bio);
  return moved.state == State::kOk ? static_cast<int>(moved.bytes) : -1;
}

int ByteStream::BioRead(BIO* bio, char* into, int count) {
  BIO_clear_retry_flags(bio);
  ByteStream& stream = StreamOf(bio);
  if (stream.overhead_ > kMostTlsOverhead) {
    stream.why_ = "the server sends messages of TLS without end";
    return -1;
  }
  const Moved moved = stream.PlainRead({into, static_cast<std::size_t>(count)}, 0);
  stream.overhead_ += moved.bytes;
  if (moved.state == State::kBlocked) BIO_set_retry_read(bio);
  if (moved.state == State::kOk) return static_cast<int>(moved.bytes);
  return moved.state == State::kEnded ? 0 : -1;
}

long ByteStream::BioControl(BIO*, int command, long, void*) {
  // Writes are not buffered, so there is nothing to flush.
  return command == BIO_CTRL_FLUSH ? 1 : 0;
}

}  // namespace weir::internal
