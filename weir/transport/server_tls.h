// The TLS settings of a server, from files that may change while it runs.
#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <string>

#include "weir/base/mutex.h"
#include "weir/base/result.h"
#include "weir/sockets/openssl_handles.h"
#include "weir/transport/tls_options.h"

namespace weir::transport {

/// Thread-safe. TLS 1.2 or 1.3 with the cipher suites that HTTP/2 allows (RFC 9113, 9.2.2); no
/// renegotiation, no compression, no resumption of sessions: a certificate that was replaced or
/// revoked is not used again.
class ServerTls {
 public:
  /// Reads the files. Returns kInvalidArgument, with the file, if one of them cannot be used.
  static Result<std::unique_ptr<ServerTls>> Load(TlsOptions options);

  /// Reads the files again, which blocks. New connections use the new contents. After an error the
  /// previous contents remain in use.
  Status Reload() WEIR_EXCLUDES(mutex_);
  /// Returns the state of a new connection, or null if the memory does not suffice.
  sockets::TlsState NewState() const WEIR_EXCLUDES(mutex_);
  const TlsOptions& options() const { return options_; }

 private:
  ServerTls(TlsOptions options, sockets::TlsContext context);
  static Result<sockets::TlsContext> MakeContext(const TlsOptions& options);

  const TlsOptions options_;
  mutable Mutex mutex_;
  sockets::TlsContext context_ WEIR_GUARDED_BY(mutex_);
};

}  // namespace weir::transport
