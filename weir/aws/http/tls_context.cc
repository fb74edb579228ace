#include "weir/aws/http/tls_context.h"

#include <fmt/format.h>
#include <openssl/err.h>

namespace weir::internal {
namespace {

const char* PathOrNull(const std::string& path) { return path.empty() ? nullptr : path.c_str(); }

bool TrustCertificatesOf(SSL_CTX& context, const CrtOptions& options) {
  if (options.ca_file.empty() && options.ca_folder.empty()) {
    return SSL_CTX_set_default_verify_paths(&context) == 1;
  }
  return SSL_CTX_load_verify_locations(&context, PathOrNull(options.ca_file),
                                       PathOrNull(options.ca_folder)) == 1;
}

}  // namespace

Result<sockets::TlsContext> MakeTlsContext(const CrtOptions& options) {
  sockets::TlsContext context(SSL_CTX_new(TLS_client_method()));
  if (context == nullptr) return Fail(Code::kUnavailable, "OpenSSL does not start");
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  // No server has a reason to renegotiate, and TLS 1.3 does not allow it.
  SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION);
  // A write that would block is repeated later, possibly in parts.
  SSL_CTX_set_mode(context.get(),
                   SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_verify(context.get(), options.verify_certificate ? SSL_VERIFY_PEER : SSL_VERIFY_NONE,
                     nullptr);
  if (TrustCertificatesOf(*context, options)) return context;
  ERR_clear_error();
  return Fail(Code::kInvalidArgument,
              fmt::format("authorities to trust in '{}' and '{}': not readable", options.ca_file,
                          options.ca_folder));
}

}  // namespace weir::internal
