// Checks the options of a server.
#pragma once

#include <string>
#include <vector>

#include "weir/base/result.h"
#include "weir/transport/server_options.h"
#include "weir/transport/socket_address.h"

namespace weir::transport {

/// Returns kInvalidArgument, with a remedy, if other machines reach the address and the options
/// have neither TLS nor allow_plaintext. `text` is the address in the message.
Status CheckPlaintext(const ServerOptions& options, const SocketAddress& address,
                      const std::string& text);

/// Checks that no two of the addresses are the same; addresses with port 0 count as different.
/// Names are looked up, which blocks. Returns kInvalidArgument. REQUIRES: CheckAddresses accepts
/// the addresses.
[[nodiscard]] Status CheckDistinct(const std::vector<std::string>& addresses);

/// Checks the form of the addresses (names are looked up) and CheckPlaintext. It is not checked
/// whether an address is free and whether a socket of systemd was inherited. Blocks. Returns
/// kInvalidArgument.
[[nodiscard]] Status CheckAddresses(const ServerOptions& options);

/// Checks what Server::Listen checks, without listening: CheckAddresses, and the files of TLS,
/// which are read. Blocks. Returns kInvalidArgument.
[[nodiscard]] Status CheckServerOptions(const ServerOptions& options);

}  // namespace weir::transport
