#include "weir/aws/endpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace weir {
namespace {

constexpr std::string_view kDigits = "0123456789";
constexpr std::string_view kNameCharacters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
constexpr std::string_view kAddressCharacters = "0123456789abcdefABCDEF:.";
constexpr std::string_view kPathCharacters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~!$&'()*+,;=:@%/";

bool MadeOf(std::string_view text, std::string_view characters) {
  return text.find_first_not_of(characters) == std::string_view::npos;
}

/// Shortens a text and replaces unprintable characters, for a message.
std::string Shown(std::string_view text) {
  std::string shown(text.substr(0, 100));
  std::ranges::replace_if(shown, [](char c) { return c < ' ' || c > '~'; }, '?');
  return shown;
}

tl::unexpected<Error> BadUrl(std::string_view url, std::string_view why) {
  const bool secret = url.find('@') != std::string_view::npos;
  const std::string shown = secret ? "" : fmt::format(" \"{}\"", Shown(url));
  return Fail(Code::kInvalidArgument,
              fmt::format("endpoint{}: {}; expected http(s)://host[:port][/path]", shown, why));
}

/// Removes "https://" or "http://" from the front; returns false if there is neither.
bool TakeScheme(std::string_view& rest, Endpoint& endpoint) {
  for (const auto& [scheme, tls] : {std::pair("https://", true), std::pair("http://", false)}) {
    if (!rest.starts_with(scheme)) continue;
    rest.remove_prefix(std::string_view(scheme).size());
    endpoint.tls = tls;
    endpoint.port = tls ? 443 : 80;
    return true;
  }
  return false;
}

/// Removes the host from the front, up to its port or the end; returns false if it is not a host.
bool TakeHost(std::string_view& rest, Endpoint& endpoint) {
  const bool brackets = rest.starts_with('[');
  const std::size_t end = std::min(rest.find(brackets ? ']' : ':'), rest.size());
  if (brackets && end == rest.size()) return false;
  endpoint.host = rest.substr(brackets ? 1 : 0, brackets ? end - 1 : end);
  rest.remove_prefix(brackets ? end + 1 : end);
  return !endpoint.host.empty() && endpoint.host.size() <= 253 &&
         MadeOf(endpoint.host, brackets ? kAddressCharacters : kNameCharacters);
}

bool ReadPort(std::string_view digits, std::uint16_t& port) {
  if (digits.empty() || digits.size() > 5 || !MadeOf(digits, kDigits)) return false;
  unsigned number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  port = static_cast<std::uint16_t>(number);
  return number >= 1 && number <= 65535;
}

}  // namespace

Result<Endpoint> ParseEndpoint(std::string_view url) {
  Endpoint endpoint;
  std::string_view rest = url;
  if (!TakeScheme(rest, endpoint)) {
    return BadUrl(url, "it begins with neither http:// nor https://");
  }
  const std::size_t path = std::min(rest.find_first_of("/?#"), rest.size());
  std::string_view authority = rest.substr(0, path);
  if (authority.find('@') != std::string_view::npos) return BadUrl(url, "it contains a user name");
  if (!TakeHost(authority, endpoint)) {
    return BadUrl(url, "its host is neither a name nor an address");
  }
  if (!authority.empty() &&
      (authority[0] != ':' || !ReadPort(authority.substr(1), endpoint.port))) {
    return BadUrl(url, "its port is not a number from 1 to 65535");
  }
  if (path < rest.size()) endpoint.path = rest.substr(path);
  if (endpoint.path[0] != '/' || !MadeOf(endpoint.path, kPathCharacters)) {
    return BadUrl(url, "it contains a query, a fragment or a character that no path has");
  }
  return endpoint;
}

std::string HostHeader(const Endpoint& endpoint) {
  const bool is_v6 = endpoint.host.find(':') != std::string::npos;
  std::string header = is_v6 ? "[" + endpoint.host + "]" : endpoint.host;
  if (endpoint.port != (endpoint.tls ? 443 : 80)) header += fmt::format(":{}", endpoint.port);
  return header;
}

}  // namespace weir
