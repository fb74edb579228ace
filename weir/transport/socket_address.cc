#include "weir/transport/socket_address.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/un.h>

#include <array>
#include <charconv>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

namespace weir::transport {
namespace {

constexpr std::string_view kUnixScheme = "unix:";

const sockaddr_in& FourOf(const SocketAddress& address) {
  return reinterpret_cast<const sockaddr_in&>(address.storage);
}
const sockaddr_in6& SixOf(const SocketAddress& address) {
  return reinterpret_cast<const sockaddr_in6&>(address.storage);
}

/// Returns the IPv4 address of a peer, also if it is mapped into IPv6.
std::optional<in_addr> Ipv4Of(const SocketAddress& address) {
  if (address.family() == AF_INET) return FourOf(address).sin_addr;
  if (address.family() != AF_INET6) return std::nullopt;
  const in6_addr& six = SixOf(address).sin6_addr;
  if (!IN6_IS_ADDR_V4MAPPED(&six)) return std::nullopt;
  in_addr four{};
  std::memcpy(&four, six.s6_addr + 12, sizeof(four));
  return four;
}

Result<SocketAddress> UnixAddress(std::string_view path) {
  SocketAddress address;
  auto& file = reinterpret_cast<sockaddr_un&>(address.storage);
  if (path.empty() || path.size() >= sizeof(file.sun_path)) {
    return Fail(Code::kInvalidArgument,
                fmt::format("listen address 'unix:{}': the path must have 1 to {} bytes", path,
                            sizeof(file.sun_path) - 1));
  }
  file.sun_family = AF_UNIX;
  path.copy(file.sun_path, path.size());
  address.size = sizeof(file);
  return address;
}

struct HostAndPort {
  std::string host, port;
};

bool IsPort(std::string_view text) {
  unsigned port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc() && end == text.data() + text.size() && port <= 65'535;
}

std::optional<HostAndPort> SplitPort(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || !IsPort(text.substr(colon + 1))) return std::nullopt;
  std::string_view host = text.substr(0, colon);
  const bool has_brackets = host.starts_with('[') && host.ends_with(']');
  if (has_brackets) host = host.substr(1, host.size() - 2);
  if (host.empty() || host.contains(':') != has_brackets) return std::nullopt;
  return HostAndPort{std::string(host), std::string(text.substr(colon + 1))};
}

struct FreeAddresses {
  void operator()(addrinfo* list) const { freeaddrinfo(list); }
};

Result<SocketAddress> LookUp(const HostAndPort& name) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(name.host.c_str(), name.port.c_str(), &hints, &found);
  if (error != 0) {
    return Fail(Code::kInvalidArgument,
                fmt::format("listen address '{}:{}': {}", name.host, name.port,
                            error == EAI_SYSTEM ? std::strerror(errno) : gai_strerror(error)));
  }
  const std::unique_ptr<addrinfo, FreeAddresses> list(found);
  const addrinfo* chosen = list.get();
  for (const addrinfo* next = list.get(); next != nullptr; next = next->ai_next) {
    if (next->ai_family == AF_INET && chosen->ai_family != AF_INET) chosen = next;
  }
  SocketAddress address;
  std::memcpy(&address.storage, chosen->ai_addr, chosen->ai_addrlen);
  address.size = chosen->ai_addrlen;
  return address;
}

template <class Address>
std::string NumericText(int family, const Address& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  inet_ntop(family, &address, text.data(), text.size());
  return text.data();
}

}  // namespace

Result<SocketAddress> ParseListenAddress(const std::string& text) {
  if (text.starts_with(kUnixScheme)) {
    return UnixAddress(std::string_view(text).substr(kUnixScheme.size()));
  }
  if (const std::optional<HostAndPort> name = SplitPort(text)) return LookUp(*name);
  return Fail(Code::kInvalidArgument,
              fmt::format("listen address '{}': write HOST:PORT, [IPV6]:PORT or unix:PATH, for "
                          "example 127.0.0.1:8081",
                          text));
}

bool IsLocal(const SocketAddress& address) {
  if (address.family() == AF_UNIX) return true;
  if (const std::optional<in_addr> four = Ipv4Of(address)) {
    return (ntohl(four->s_addr) >> 24) == IN_LOOPBACKNET;
  }
  return address.family() == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&SixOf(address).sin6_addr);
}

int PortOf(const SocketAddress& address) {
  if (address.family() == AF_INET) return ntohs(FourOf(address).sin_port);
  return address.family() == AF_INET6 ? ntohs(SixOf(address).sin6_port) : 0;
}

std::string TextOf(const SocketAddress& address) {
  if (const std::optional<in_addr> four = Ipv4Of(address)) {
    return fmt::format("{}:{}", NumericText(AF_INET, *four), PortOf(address));
  }
  if (address.family() != AF_INET6) return "unix";
  return fmt::format("[{}]:{}", NumericText(AF_INET6, SixOf(address).sin6_addr), PortOf(address));
}

std::string PeerKey(const SocketAddress& address) {
  if (const std::optional<in_addr> four = Ipv4Of(address)) {
    return {reinterpret_cast<const char*>(&*four), sizeof(*four)};
  }
  constexpr std::size_t kNetworkBytes = 8;
  if (address.family() != AF_INET6) return {};
  return {reinterpret_cast<const char*>(SixOf(address).sin6_addr.s6_addr), kNetworkBytes};
}

}  // namespace weir::transport
