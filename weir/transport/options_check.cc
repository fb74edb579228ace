#include "weir/transport/options_check.h"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "weir/transport/server_tls.h"

namespace weir::transport {
namespace {

/// Returns a text that identifies the address: two sockets cannot listen on two addresses with the
/// same text. Empty if the system chooses the port.
Result<std::string> IdentityOf(const std::string& text) {
  if (text.starts_with("systemd:")) return text;
  WEIR_ASSIGN_OR_RETURN(const SocketAddress address, ParseListenAddress(text));
  if (address.family() == AF_UNIX) return text;
  return PortOf(address) == 0 ? std::string() : TextOf(address);
}

}  // namespace

Status CheckPlaintext(const ServerOptions& options, const SocketAddress& address,
                      const std::string& text) {
  if (options.tls || options.allow_plaintext || IsLocal(address)) return {};
  return Fail(
      Code::kInvalidArgument,
      fmt::format("other machines can reach '{}', and without TLS anyone between could read "
                  "and change requests: set {}, listen on 127.0.0.1, or set allow-plaintext",
                  text, options.tls_remedy));
}

Status CheckAddresses(const ServerOptions& options) {
  for (const std::string& text : options.addresses) {
    if (text.starts_with("systemd:")) continue;
    WEIR_ASSIGN_OR_RETURN(const SocketAddress address, ParseListenAddress(text));
    WEIR_RETURN_IF_ERROR(CheckPlaintext(options, address, text));
  }
  return {};
}

Status CheckDistinct(const std::vector<std::string>& addresses) {
  std::map<std::string, std::string> texts;
  for (const std::string& text : addresses) {
    WEIR_ASSIGN_OR_RETURN(std::string identity, IdentityOf(text));
    if (identity.empty()) continue;
    const auto [found, is_new] = texts.emplace(std::move(identity), text);
    if (is_new) continue;
    return Fail(Code::kInvalidArgument,
                fmt::format("listen address '{}' is the same as '{}': give each of them an address "
                            "of its own",
                            text, found->second));
  }
  return {};
}

Status CheckServerOptions(const ServerOptions& options) {
  WEIR_RETURN_IF_ERROR(CheckAddresses(options));
  if (!options.tls) return {};
  const auto tls = ServerTls::Load(*options.tls);
  return tls ? Status() : Fail(tls.error());
}

}  // namespace weir::transport
