// The address of a service, as a URL gives it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "weir/base/result.h"

namespace weir {

struct Endpoint {
  bool tls = true;
  std::string host;  ///< a name or an address; IPv6 without brackets
  std::uint16_t port = 443;
  std::string path = "/";  ///< encoded

  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

/// "https://host", "http://host:8000/path", "http://[::1]:8000". kInvalidArgument, saying what is
/// wrong with it, for all else: user names, queries and fragments too. A text with an '@' is not
/// repeated in the message, since there may be a password before it.
Result<Endpoint> ParseEndpoint(std::string_view url);

/// As the host header has it: with the port unless it is the scheme's own, IPv6 in brackets.
std::string HostHeader(const Endpoint& endpoint);

}  // namespace weir
