// The address of a service, parsed from a URL.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "weir/base/api.h"
#include "weir/base/result.h"

namespace weir {

struct Endpoint {
  bool tls = true;
  std::string host;  ///< a name or an address; IPv6 without brackets
  std::uint16_t port = 443;
  std::string path = "/";  ///< percent-encoded

  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

/// Parses "https://host", "http://host:8000/path" or "http://[::1]:8000". Returns kInvalidArgument
/// with the cause for any other text, including user names, queries and fragments. The message does
/// not repeat a text with an '@', since there may be a password before it.
WEIR_API Result<Endpoint> ParseEndpoint(std::string_view url);

/// Returns the value of the host header: with the port unless it is the default of the scheme, and
/// with IPv6 addresses in brackets.
WEIR_API std::string HostHeader(const Endpoint& endpoint);

}  // namespace weir
