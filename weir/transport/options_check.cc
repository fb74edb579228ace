#include "weir/transport/options_check.h"

#include <fmt/format.h>

#include "weir/transport/server_tls.h"

namespace weir::transport {

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

Status CheckServerOptions(const ServerOptions& options) {
  WEIR_RETURN_IF_ERROR(CheckAddresses(options));
  if (!options.tls) return {};
  const auto tls = ServerTls::Load(*options.tls);
  return tls ? Status() : Fail(tls.error());
}

}  // namespace weir::transport
