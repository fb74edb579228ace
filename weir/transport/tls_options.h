// What an operator configures for TLS.
#pragma once

#include <string>

namespace weir::transport {

struct TlsOptions {
  std::string certificate_file;  ///< PEM: the server's certificate, then those of intermediates
  std::string key_file;          ///< PEM: its private key, not encrypted
  /// PEM: the authorities of client certificates. If empty, no client certificate is requested.
  std::string client_ca_file;
  /// Whether a client without a certificate is refused. Needs client_ca_file.
  bool requires_client_certificate = false;
  /// The protocol that a client must offer by ALPN, for example "h2". If empty, ALPN is ignored.
  std::string protocol;
};

}  // namespace weir::transport
