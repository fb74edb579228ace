// AWS's C runtime, started: the base of HTTP, signing and credentials.
#pragma once

#include <memory>
#include <string>

#include "weir/base/api.h"
#include "weir/base/result.h"

struct aws_allocator;
struct aws_client_bootstrap;
struct aws_event_loop;
struct aws_host_resolver;
struct aws_tls_ctx;

namespace weir {

struct CrtOptions {
  /// PEM files of the trusted authorities: one file, or a folder with names by hash (openssl
  /// rehash). If both are empty, the system's authorities are trusted.
  std::string ca_file{};
  std::string ca_folder{};
  /// False: any certificate is accepted for any host. For services on this machine.
  bool verify_certificate = true;
};

/// One event loop with its thread, a host resolver, and a TLS context (TLS 1.2 at least) that
/// checks the certificate and the host name, unless `verify_certificate` is false. Everything made
/// from the runtime must be destroyed before it; the destructor waits for its threads and must not
/// be called from one of them. Several runtimes may exist at once. Do not fork while one exists.
/// The C runtime's logging stays off: at level INFO it writes session tokens.
class WEIR_API CrtRuntime {
 public:
  /// Errors: kInvalidArgument if the file or folder of authorities cannot be read; kUnavailable if
  /// the system has no thread or descriptor.
  static Result<std::unique_ptr<CrtRuntime>> Start(const CrtOptions& options);
  ~CrtRuntime();
  CrtRuntime(const CrtRuntime&) = delete;
  CrtRuntime& operator=(const CrtRuntime&) = delete;

  /// For this module only. The objects live as long as the runtime.
  aws_allocator* allocator() const;
  aws_event_loop* loop() const;
  aws_client_bootstrap* bootstrap() const;
  aws_host_resolver* resolver() const;
  aws_tls_ctx* tls() const;
  const CrtOptions& options() const;

 private:
  class WEIR_INTERNAL State;
  explicit CrtRuntime(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace weir
