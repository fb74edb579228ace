#include "weir/aws/testing/faulty_sockets_fixture.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <netdb.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <atomic>
#include <cerrno>
#include <string>

namespace weir {
namespace {

/// The number of calls until the one that fails; 0: no call fails.
std::atomic<std::size_t> calls_left = 0;

std::atomic<bool> has_no_room = false;

enum class Resolver { kResponses, kSilent, kAsked };
std::atomic<Resolver> resolver = Resolver::kResponses;

enum class Endless { kNo, kSoon, kYes };
std::atomic<Endless> endless = Endless::kNo;

/// Returns the result of a recv whose real result is `count`: while an EndlessSockets exists, a
/// read that would block returns a byte instead.
ssize_t WithoutEnd(ssize_t count, void* into) {
  Endless soon = Endless::kSoon;
  if (count > 0) endless.compare_exchange_strong(soon, Endless::kYes);
  if (count >= 0 || errno != EAGAIN || endless != Endless::kYes) return count;
  *static_cast<char*>(into) = 'x';
  return 1;
}

/// Returns true once: for the call that must fail.
bool Fails() {
  std::size_t left = calls_left;
  while (left != 0) {
    if (calls_left.compare_exchange_weak(left, left - 1)) return left == 1;
  }
  return false;
}

bool NeverBlocks(int descriptor) { return (fcntl(descriptor, F_GETFL) & O_NONBLOCK) != 0; }

int FailWith(int error) {
  errno = error;
  return -1;
}

// Under a sanitizer these are the functions that the sanitizer interposed: without them thread
// sanitizer does not see descriptors, and reports a race for accesses that the read of an eventfd
// orders.
template <class Function>
Function* Real(const char* name) {
  void* const sanitized = dlsym(RTLD_DEFAULT, (std::string("__interceptor_") + name).c_str());
  return reinterpret_cast<Function*>(sanitized != nullptr ? sanitized : dlsym(RTLD_NEXT, name));
}

}  // namespace

FaultySockets::FaultySockets(std::size_t nth) { calls_left = nth; }
FaultySockets::~FaultySockets() { calls_left = 0; }
bool FaultySockets::failed() const { return calls_left == 0; }

FullSockets::FullSockets() { has_no_room = true; }
FullSockets::~FullSockets() { has_no_room = false; }

SilentResolver::SilentResolver() { resolver = Resolver::kSilent; }
SilentResolver::~SilentResolver() {
  resolver = Resolver::kResponses;
  resolver.notify_all();
}
void SilentResolver::WaitForQuestion() const { resolver.wait(Resolver::kSilent); }

EndlessSockets::EndlessSockets() { endless = Endless::kSoon; }
EndlessSockets::~EndlessSockets() { endless = Endless::kNo; }

}  // namespace weir

// These replace the functions of the C library in the whole program.
extern "C" {

int getaddrinfo(const char* name, const char* service, const addrinfo* hints, addrinfo** found) {
  using Function = int(const char*, const char*, const addrinfo*, addrinfo**);
  static auto* const real = weir::Real<Function>("getaddrinfo");
  auto silent = weir::Resolver::kSilent;
  weir::resolver.compare_exchange_strong(silent, weir::Resolver::kAsked);
  weir::resolver.notify_all();
  weir::resolver.wait(weir::Resolver::kAsked);
  return real(name, service, hints, found);
}

int socket(int domain, int type, int protocol) noexcept {
  static auto* const real = weir::Real<int(int, int, int)>("socket");
  if ((type & SOCK_NONBLOCK) != 0 && weir::Fails()) return weir::FailWith(EMFILE);
  return real(domain, type, protocol);
}

int connect(int descriptor, const sockaddr* address, socklen_t size) {
  static auto* const real = weir::Real<int(int, const sockaddr*, socklen_t)>("connect");
  if (weir::NeverBlocks(descriptor) && weir::Fails()) return weir::FailWith(ENETUNREACH);
  return real(descriptor, address, size);
}

ssize_t send(int descriptor, const void* bytes, size_t count, int flags) {
  static auto* const real = weir::Real<ssize_t(int, const void*, size_t, int)>("send");
  if (weir::NeverBlocks(descriptor) && weir::Fails()) return weir::FailWith(ECONNRESET);
  if (weir::has_no_room && weir::NeverBlocks(descriptor)) return weir::FailWith(EAGAIN);
  return real(descriptor, bytes, count, flags);
}

ssize_t recv(int descriptor, void* into, size_t count, int flags) {
  static auto* const real = weir::Real<ssize_t(int, void*, size_t, int)>("recv");
  if (weir::NeverBlocks(descriptor) && weir::Fails()) return weir::FailWith(ECONNRESET);
  const ssize_t taken = real(descriptor, into, count, flags);
  return weir::NeverBlocks(descriptor) ? weir::WithoutEnd(taken, into) : taken;
}

int epoll_ctl(int epoll, int operation, int descriptor, epoll_event* event) noexcept {
  static auto* const real = weir::Real<int(int, int, int, epoll_event*)>("epoll_ctl");
  if (operation == EPOLL_CTL_ADD && weir::Fails()) return weir::FailWith(ENOMEM);
  return real(epoll, operation, descriptor, event);
}

int eventfd(unsigned int count, int flags) noexcept {
  static auto* const real = weir::Real<int(unsigned int, int)>("eventfd");
  if (weir::Fails()) return weir::FailWith(EMFILE);
  return real(count, flags);
}
}
