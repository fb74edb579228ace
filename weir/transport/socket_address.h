// Addresses of sockets: their texts, and the parts that the bounds of a server use.
#pragma once

#include <sys/socket.h>

#include <string>

#include "weir/base/result.h"

namespace weir::transport {

/// An address of the system. A value.
struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
  int family() const { return storage.ss_family; }
};

/// Parses "HOST:PORT", "[IPV6]:PORT" or "unix:PATH". A name is looked up, which may block; its
/// first IPv4 address is taken, or else its first address. Returns kInvalidArgument for any other
/// text and for a name without an address.
Result<SocketAddress> ParseListenAddress(const std::string& text);

/// Returns whether only processes of this machine reach the address: loopback, or a socket file.
bool IsLocal(const SocketAddress& address);

/// Returns "ADDRESS:PORT" or "[IPV6]:PORT", an IPv4 address in its usual form even if the socket
/// is an IPv6 socket; "unix" for a socket file.
std::string TextOf(const SocketAddress& address);

/// Returns what identifies a peer for bounds: its IPv4 address, or the first 64 bits of its IPv6
/// address, because a host usually has all addresses of such a network. Empty for a socket file.
std::string PeerKey(const SocketAddress& address);

/// Returns the port; 0 for a socket file.
int PortOf(const SocketAddress& address);

}  // namespace weir::transport
