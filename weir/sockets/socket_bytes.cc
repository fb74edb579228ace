#include "weir/sockets/socket_bytes.h"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/x509.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>

namespace weir::sockets {
namespace {

/// The maximum number of bytes that TLS reads without returning data. Such bytes are a handshake,
/// whose certificates OpenSSL bounds to 100 KB, or tickets and updates of keys, of which a hostile
/// peer can send any number.
constexpr std::size_t kMaxTlsOverhead = 256 * 1024;

/// Returns the first error of OpenSSL's error queue of this thread, and empties the queue.
std::string TakeTlsError() {
  std::array<char, 256> text{"TLS failed"};
  const unsigned long error = ERR_peek_error();
  if (error != 0) ERR_error_string_n(error, text.data(), text.size());
  ERR_clear_error();
  return text.data();
}

SocketBytes& BytesOf(BIO* bio) { return *static_cast<SocketBytes*>(BIO_get_data(bio)); }

/// OpenSSL's lengths are ints.
int TlsLength(std::size_t count) {
  constexpr std::size_t kMax = std::numeric_limits<int>::max();
  return static_cast<int>(std::min(count, kMax));
}

}  // namespace

std::string ErrnoText(int error) {
  std::array<char, 128> text{};
  return strerror_r(error, text.data(), text.size());
}

void SocketBytes::BeginTls(TlsState tls) {
  tls_ = std::move(tls);
  BIO* const bio = BIO_new(SocketMethod());
  BIO_set_data(bio, this);
  BIO_set_init(bio, 1);
  SSL_set_bio(tls_.get(), bio, bio);
}

SocketBytes::State SocketBytes::Handshake() {
  ERR_clear_error();
  const State state = MovedByTls(SSL_do_handshake(tls_.get())).state;
  if (state == State::kOk) overhead_ = 0;
  const long verified = SSL_get_verify_result(tls_.get());
  if (state == State::kFailed && verified != X509_V_OK) {
    why_ += fmt::format(": {}", X509_verify_cert_error_string(verified));
  }
  return state;
}

SocketBytes::Moved SocketBytes::Read(std::span<char> into) {
  if (tls_ == nullptr) return PlainRead(into);
  ERR_clear_error();
  const Moved moved = MovedByTls(SSL_read(tls_.get(), into.data(), TlsLength(into.size())));
  if (moved.state == State::kOk) overhead_ = 0;
  return moved;
}

SocketBytes::Moved SocketBytes::Write(std::string_view bytes) {
  if (tls_ == nullptr) return PlainWrite(bytes);
  ERR_clear_error();
  return MovedByTls(SSL_write(tls_.get(), bytes.data(), TlsLength(bytes.size())));
}

SocketBytes::State SocketBytes::FailedBy(int error) {
  why_ = ErrnoText(error);
  return State::kFailed;
}

SocketBytes::Moved SocketBytes::Ended() {
  why_ = fmt::format("the {} closed the connection", peer_);
  return {State::kEnded};
}

SocketBytes::Moved SocketBytes::PlainWrite(std::string_view bytes) {
  const ssize_t count = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (count >= 0) {
    sent_ += static_cast<std::uint64_t>(count);
    return {State::kOk, static_cast<std::size_t>(count)};
  }
  if (errno == EAGAIN || errno == EINTR) return {State::kBlocked};
  return {FailedBy(errno)};
}

SocketBytes::Moved SocketBytes::PlainRead(std::span<char> into) {
  const ssize_t count = recv(fd_, into.data(), into.size(), MSG_DONTWAIT);
  if (count > 0) return {State::kOk, static_cast<std::size_t>(count)};
  if (count == 0) return Ended();
  if (errno == EAGAIN || errno == EINTR) return {State::kBlocked};
  return {FailedBy(errno)};
}

SocketBytes::Moved SocketBytes::MovedByTls(int result) {
  if (result > 0) return {State::kOk, static_cast<std::size_t>(result)};
  switch (SSL_get_error(tls_.get(), result)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
      return {State::kBlocked};
    case SSL_ERROR_ZERO_RETURN:
      return Ended();
    default:
      // If reading or writing the socket failed, why_ is set, and is more precise than OpenSSL's
      // error. The queue of errors is emptied in any case.
      if (const std::string text = TakeTlsError(); why_.empty()) why_ = text;
      return {State::kFailed};
  }
}

BIO_METHOD* SocketBytes::SocketMethod() {
  using Method = std::unique_ptr<BIO_METHOD, OpenSslFree<&BIO_meth_free>>;
  static const Method method = [] {
    Method result(BIO_meth_new(BIO_get_new_index(), "weir socket"));
    BIO_meth_set_write(result.get(), &SocketBytes::BioWrite);
    BIO_meth_set_read(result.get(), &SocketBytes::BioRead);
    BIO_meth_set_ctrl(result.get(), &SocketBytes::BioControl);
    return result;
  }();
  return method.get();
}

int SocketBytes::BioWrite(BIO* bio, const char* bytes, int count) {
  BIO_clear_retry_flags(bio);
  const Moved moved = BytesOf(bio).PlainWrite({bytes, static_cast<std::size_t>(count)});
  if (moved.state == State::kBlocked) BIO_set_retry_write(bio);
  return moved.state == State::kOk ? static_cast<int>(moved.bytes) : -1;
}

int SocketBytes::BioRead(BIO* bio, char* into, int count) {
  BIO_clear_retry_flags(bio);
  SocketBytes& socket = BytesOf(bio);
  if (socket.overhead_ > kMaxTlsOverhead) {
    socket.why_ = fmt::format("the {} sends messages of TLS without end", socket.peer_);
    return -1;
  }
  const Moved moved = socket.PlainRead({into, static_cast<std::size_t>(count)});
  socket.overhead_ += moved.bytes;
  if (moved.state == State::kBlocked) BIO_set_retry_read(bio);
  if (moved.state == State::kOk) return static_cast<int>(moved.bytes);
  return moved.state == State::kEnded ? 0 : -1;
}

long SocketBytes::BioControl(BIO*, int command, long, void*) {
  // Writes are not buffered, so there is nothing to flush.
  return command == BIO_CTRL_FLUSH ? 1 : 0;
}

}  // namespace weir::sockets
