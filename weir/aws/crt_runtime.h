// AWS's C runtime, started: what HTTP, signing and credentials run on.
#pragma once

#include <memory>
#include <string>

#include "weir/base/result.h"

struct aws_allocator;
struct aws_client_bootstrap;
struct aws_event_loop;
struct aws_host_resolver;
struct aws_tls_ctx;

namespace weir {

struct CrtOptions {
  /// PEM files of authorities that are trusted instead of the system's: one file, or a folder with
  /// names by hash (openssl rehash). Both empty: the system's.
  std::string ca_file{};
  std::string ca_folder{};
  /// False: whoever answers is believed to be the host, whatever the certificate says. For engines
  /// on this machine.
  bool verify_certificate = true;
};

/// One event loop with its thread, a host resolver, and a TLS context that checks peer and host
/// name, unless told not to (TLS 1.2 at least). Everything made from it must be destroyed before
/// it; the destructor waits for its threads and must not be called from one of them. Several may
/// live side by side. Do not fork while one lives. The runtime's own logging stays off: at level
/// INFO it writes session tokens.
class CrtRuntime {
 public:
  /// kInvalidArgument: the file or folder of authorities cannot be read; kUnavailable: the system
  /// gives no thread or descriptor.
  static Result<std::unique_ptr<CrtRuntime>> Start(const CrtOptions& options);
  ~CrtRuntime();
  CrtRuntime(const CrtRuntime&) = delete;
  CrtRuntime& operator=(const CrtRuntime&) = delete;

  /// For this room alone; they live as long as this.
  aws_allocator* allocator() const;
  aws_event_loop* loop() const;
  aws_client_bootstrap* bootstrap() const;
  aws_host_resolver* resolver() const;
  aws_tls_ctx* tls() const;
  const CrtOptions& options() const;

 private:
  class State;
  explicit CrtRuntime(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace weir
