// Addresses for sockets.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>

namespace weir::internal {

struct SocketAddress {
  sockaddr_storage address{};
  socklen_t size = 0;

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
  friend bool operator==(const SocketAddress& a, const SocketAddress& b) {
    return a.size == b.size && std::memcmp(&a.address, &b.address, a.size) == 0;
  }
};

/// Parses a numeric address, IPv4 or IPv6; returns nothing for any other text.
std::optional<SocketAddress> ParseAddress(const std::string& text, std::uint16_t port);

}  // namespace weir::internal
