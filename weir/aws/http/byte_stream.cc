#include "weir/aws/http/byte_stream.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/x509v3.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "weir/aws/http/keep_alive_probes.h"

namespace weir::internal {
namespace {

void SetOptions(int descriptor) {
  const auto set = [descriptor](int level, int name, int value) {
    setsockopt(descriptor, level, name, &value, sizeof(value));
  };
  // A request may be two writes; the second must not be delayed until the first is acknowledged.
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, kProbeAfterSeconds);
  set(IPPROTO_TCP, TCP_KEEPINTVL, kProbeEverySeconds);
  set(IPPROTO_TCP, TCP_KEEPCNT, kMaxFailedProbes);
}

}  // namespace

Result<std::unique_ptr<ByteStream>> ByteStream::Connect(const SocketAddress& address) {
  const int type = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
  const int descriptor = socket(address.address.ss_family, type, 0);
  if (descriptor < 0) return Fail(Code::kUnavailable, sockets::ErrnoText(errno));
  std::unique_ptr<ByteStream> stream(new ByteStream(descriptor));
  SetOptions(descriptor);
  if (connect(descriptor, address.get(), address.size) == 0 || errno == EINPROGRESS) return stream;
  return Fail(Code::kUnavailable, sockets::ErrnoText(errno));
}

ByteStream::~ByteStream() { close(descriptor_); }

ByteStream::State ByteStream::FinishConnect() {
  int error = 0;
  socklen_t size = sizeof(error);
  getsockopt(descriptor_, SOL_SOCKET, SO_ERROR, &error, &size);
  if (error != 0) return bytes_.FailedBy(error);
  sockaddr_storage peer{};
  size = sizeof(peer);
  // Without an error and without a peer, the connection is still being made.
  const bool connected = getpeername(descriptor_, reinterpret_cast<sockaddr*>(&peer), &size) == 0;
  return connected ? State::kOk : State::kBlocked;
}

// An address must be in the certificate like a name, but cannot be sent as the server name.
Status ByteStream::BeginTls(SSL_CTX& context, const std::string& host) {
  sockets::TlsState tls(SSL_new(&context));
  SSL_set_connect_state(tls.get());
  SSL_set_hostflags(tls.get(), X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  const bool is_address = ParseAddress(host, 0).has_value();
  const bool named =
      is_address ? X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(tls.get()), host.c_str()) == 1
                 : SSL_set1_host(tls.get(), host.c_str()) == 1 &&
                       SSL_set_tlsext_host_name(tls.get(), host.c_str()) == 1;
  if (!named) {
    return Fail(Code::kInvalidArgument, fmt::format("'{}' is not a host name for TLS", host));
  }
  bytes_.BeginTls(std::move(tls));
  return {};
}

bool ByteStream::IsQuiet() {
  std::array<char, 1> byte{};
  // Messages of TLS itself between responses, such as tickets, are read here and do not count.
  if (bytes_.tls() != nullptr) return Read(byte).state == State::kBlocked;
  const ssize_t count = recv(descriptor_, byte.data(), byte.size(), MSG_PEEK | MSG_DONTWAIT);
  return count < 0 && (errno == EAGAIN || errno == EINTR);
}

void ByteStream::Shut() { shutdown(descriptor_, SHUT_RDWR); }

}  // namespace weir::internal
