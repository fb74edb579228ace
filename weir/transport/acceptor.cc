#include "weir/transport/acceptor.h"

#include <netinet/in.h>
#include <netinet/tcp.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

namespace weir::transport {
namespace {

/// The number of connections that are accepted before the loop does other work.
constexpr int kAcceptsInARow = 64;
constexpr milliseconds kPause{100};

/// A peer that vanished without a word is noticed after 90 s, even if nothing is sent to it.
constexpr int kSilentSeconds = 60, kProbeSeconds = 10, kProbes = 3;

void ConfigureAccepted(int fd, int family) {
  if (family == AF_UNIX) return;
  const auto set = [fd](int level, int name, int value) {
    setsockopt(fd, level, name, &value, sizeof(value));
  };
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, kSilentSeconds);
  set(IPPROTO_TCP, TCP_KEEPINTVL, kProbeSeconds);
  set(IPPROTO_TCP, TCP_KEEPCNT, kProbes);
}

/// Returns whether the connection failed and not the listener (accept(2)): the next call may
/// succeed.
bool IsOfConnection(int error) {
  switch (error) {
    case EINTR:
    case ECONNABORTED:
    case EPROTO:
    case EPERM:
    case ENETDOWN:
    case ENOPROTOOPT:
    case EHOSTDOWN:
    case ENONET:
    case EHOSTUNREACH:
    case EOPNOTSUPP:
    case ENETUNREACH:
      return true;
    default:
      return false;
  }
}

}  // namespace

Acceptor::~Acceptor() {
  if (pause_) loop_.Cancel(*pause_);
}

Status Acceptor::Start(UniqueFd listener) {
  WEIR_ASSIGN_OR_RETURN(watch_, FdWatch::Make(loop_, std::move(listener), *this));
  watch_->AwaitReadable();
  return {};
}

void Acceptor::OnReadable() {
  int accepted = 0;
  while (accepted < kAcceptsInARow && AcceptOne()) ++accepted;
  if (!pause_) watch_->AwaitReadable();
}

bool Acceptor::AcceptOne() {
  SocketAddress peer;
  peer.size = sizeof(peer.storage);
  UniqueFd fd(accept4(watch_->fd(), peer.get(), &peer.size, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (fd.is_open()) {
    ConfigureAccepted(fd.get(), peer.family());
    take_(std::move(fd), peer);
    return true;
  }
  if (errno == EAGAIN) return false;
  errors_.Add();
  if (IsOfConnection(errno)) return true;
  Pause(errno);
  return false;
}

void Acceptor::Pause(int error) {
  const Instant now = loop_.clock().Now();
  pause_ = loop_.At(now + kPause, [this] {
    pause_.reset();
    OnReadable();
  });
  const auto suppressed = events_.ShouldWrite(now);
  if (!suppressed) return;
  std::array<char, 128> text{};
  const std::string_view why = strerror_r(error, text.data(), text.size());
  const std::array fields = {LogField{"message", why}, LogField{"pause_ms", kPause.count()},
                             LogField{"suppressed", *suppressed}};
  log_.Write(LogLevel::kError, "transport.accept_failed", fields);
}

}  // namespace weir::transport
