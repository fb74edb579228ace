#include "weir/transport/server_tls.h"

#include <fmt/format.h>
#include <openssl/err.h>

#include <array>
#include <cstring>
#include <string_view>
#include <utility>

namespace weir::transport {
namespace {

// RFC 9113, 9.2.2: ephemeral keys and AEAD.
constexpr const char* kTls12Ciphers = "ECDHE+AESGCM:ECDHE+CHACHA20";

// OpenSSL's errors are a queue. An error of the system is the cause of those behind it, which only
// say that there was one.
Error TlsFileError(std::string_view what, const std::string& file) {
  std::array<char, 256> text{"not usable"};
  while (const unsigned long error = ERR_get_error()) {
    if (ERR_SYSTEM_ERROR(error)) {
      ERR_clear_error();
      const char* const cause = strerror_r(ERR_GET_REASON(error), text.data(), text.size());
      return {Code::kInvalidArgument, fmt::format("cannot read {} '{}': {}", what, file, cause)};
    }
    ERR_error_string_n(error, text.data(), text.size());
  }
  return {Code::kInvalidArgument, fmt::format("{} '{}': {}", what, file, text.data())};
}

Status CheckTlsOptions(const TlsOptions& options) {
  if (options.certificate_file.empty() || options.key_file.empty()) {
    return Fail(Code::kInvalidArgument, "TLS needs both a certificate file and a key file");
  }
  if (options.requires_client_certificate && options.client_ca_file.empty()) {
    return Fail(Code::kInvalidArgument,
                "client certificates can be required only with a file of their authorities");
  }
  return {};
}

Status UseCertificate(SSL_CTX& context, const TlsOptions& options) {
  if (SSL_CTX_use_certificate_chain_file(&context, options.certificate_file.c_str()) != 1) {
    return Fail(TlsFileError("certificate file", options.certificate_file));
  }
  if (SSL_CTX_use_PrivateKey_file(&context, options.key_file.c_str(), SSL_FILETYPE_PEM) != 1 ||
      SSL_CTX_check_private_key(&context) != 1) {
    return Fail(TlsFileError("key file", options.key_file));
  }
  return {};
}

Status RequestClientCertificate(SSL_CTX& context, const TlsOptions& options) {
  if (options.client_ca_file.empty()) return {};
  const char* const file = options.client_ca_file.c_str();
  STACK_OF(X509_NAME)* const names = SSL_load_client_CA_file(file);
  if (names == nullptr || SSL_CTX_load_verify_locations(&context, file, nullptr) != 1) {
    sk_X509_NAME_pop_free(names, X509_NAME_free);
    return Fail(TlsFileError("file of client authorities", options.client_ca_file));
  }
  SSL_CTX_set_client_CA_list(&context, names);
  const int required = options.requires_client_certificate ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0;
  SSL_CTX_set_verify(&context, SSL_VERIFY_PEER | required, nullptr);
  return {};
}

/// OpenSSL's callback: `protocol` points to the name, which the ServerTls owns.
int SelectProtocol(SSL*, const unsigned char** chosen, unsigned char* chosen_size,
                   const unsigned char* offered, unsigned offered_size, void* protocol) {
  const std::string_view wanted = *static_cast<const std::string*>(protocol);
  for (unsigned at = 0; at < offered_size; at += 1U + offered[at]) {
    const std::string_view name(reinterpret_cast<const char*>(offered) + at + 1, offered[at]);
    if (name != wanted) continue;
    *chosen = offered + at + 1;
    *chosen_size = offered[at];
    return SSL_TLSEXT_ERR_OK;
  }
  return SSL_TLSEXT_ERR_ALERT_FATAL;
}

void SetProtocolOptions(SSL_CTX& context) {
  SSL_CTX_set_min_proto_version(&context, TLS1_2_VERSION);
  SSL_CTX_set_cipher_list(&context, kTls12Ciphers);
  SSL_CTX_set_options(&context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_NO_TICKET |
                                    SSL_OP_CIPHER_SERVER_PREFERENCE);
  SSL_CTX_set_num_tickets(&context, 0);
  SSL_CTX_set_session_cache_mode(&context, SSL_SESS_CACHE_OFF);
  // A write that is blocked is repeated later, possibly with more bytes. An idle connection has no
  // buffers. All available bytes are read at once, not the header and the rest of a
  // record separately.
  SSL_CTX_set_mode(&context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                 SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_read_ahead(&context, 1);
}

}  // namespace

Result<sockets::TlsContext> ServerTls::MakeContext(const TlsOptions& options) {
  ERR_clear_error();
  sockets::TlsContext context(SSL_CTX_new(TLS_server_method()));
  if (context == nullptr) return Fail(Code::kUnavailable, "OpenSSL does not start");
  SetProtocolOptions(*context);
  WEIR_RETURN_IF_ERROR(UseCertificate(*context, options));
  WEIR_RETURN_IF_ERROR(RequestClientCertificate(*context, options));
  return context;
}

Result<std::unique_ptr<ServerTls>> ServerTls::Load(TlsOptions options) {
  WEIR_RETURN_IF_ERROR(CheckTlsOptions(options));
  std::unique_ptr<ServerTls> tls(new ServerTls(std::move(options), nullptr));
  WEIR_RETURN_IF_ERROR(tls->Reload());
  return tls;
}

ServerTls::ServerTls(TlsOptions options, sockets::TlsContext context)
    : options_(std::move(options)), context_(std::move(context)) {}

Status ServerTls::Reload() {
  WEIR_ASSIGN_OR_RETURN(sockets::TlsContext context, MakeContext(options_));
  if (!options_.protocol.empty()) {
    SSL_CTX_set_alpn_select_cb(context.get(), &SelectProtocol,
                               const_cast<std::string*>(&options_.protocol));
  }
  const MutexLock lock(mutex_);
  std::swap(context_, context);
  return {};
}

sockets::TlsState ServerTls::NewState() const {
  const MutexLock lock(mutex_);
  return sockets::TlsState(SSL_new(context_.get()));
}

}  // namespace weir::transport
