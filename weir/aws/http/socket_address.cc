#include "weir/aws/http/socket_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>

namespace weir::internal {

std::optional<SocketAddress> ParseAddress(const std::string& text, std::uint16_t port) {
  SocketAddress parsed;
  auto& four = reinterpret_cast<sockaddr_in&>(parsed.address);
  auto& six = reinterpret_cast<sockaddr_in6&>(parsed.address);
  if (inet_pton(AF_INET, text.c_str(), &four.sin_addr) == 1) {
    four.sin_family = AF_INET;
    four.sin_port = htons(port);
    parsed.size = sizeof(four);
  } else if (inet_pton(AF_INET6, text.c_str(), &six.sin6_addr) == 1) {
    six.sin6_family = AF_INET6;
    six.sin6_port = htons(port);
    parsed.size = sizeof(six);
  } else {
    return std::nullopt;
  }
  return parsed;
}

}  // namespace weir::internal
