// A client with TLS that blocks, for tests.
#pragma once

#include <openssl/ssl.h>
#include <signal.h>

#include <array>
#include <memory>
#include <string>
#include <string_view>

#include "weir/sockets/openssl_handles.h"
#include "weir/transport/testing/test_client_fixture.h"

namespace weir::transport {

struct TlsClientOptions {
  std::string protocol = "h2";  ///< offered by ALPN; empty: none
  std::string certificate_file, key_file;
  int latest_version = TLS1_3_VERSION;
  const char* ciphers = nullptr;  ///< of TLS 1.2
};

/// Does not verify the server.
class TlsClient {
 public:
  explicit TlsClient(const std::string& address, const TlsClientOptions& options = {})
      : socket_(address), context_(SSL_CTX_new(TLS_client_method())) {
    BlockSigpipe();
    SSL_CTX_set_max_proto_version(context_.get(), options.latest_version);
    if (options.ciphers != nullptr) SSL_CTX_set_cipher_list(context_.get(), options.ciphers);
    if (!options.certificate_file.empty()) {
      SSL_CTX_use_certificate_file(context_.get(), options.certificate_file.c_str(),
                                   SSL_FILETYPE_PEM);
      SSL_CTX_use_PrivateKey_file(context_.get(), options.key_file.c_str(), SSL_FILETYPE_PEM);
    }
    tls_.reset(SSL_new(context_.get()));
    const std::string offer = static_cast<char>(options.protocol.size()) + options.protocol;
    if (!options.protocol.empty()) {
      SSL_set_alpn_protos(tls_.get(), reinterpret_cast<const unsigned char*>(offer.data()),
                          static_cast<unsigned>(offer.size()));
    }
    SSL_set_fd(tls_.get(), socket_.fd());
    is_shaken_ = SSL_connect(tls_.get()) == 1;
  }

  /// With TLS 1.3 the client ends its handshake before the server has checked the client.
  bool is_shaken() const { return is_shaken_; }
  SSL& tls() const { return *tls_; }
  TestClient& socket() { return socket_; }
  void Send(std::string_view bytes) const {
    SSL_write(tls_.get(), bytes.data(), static_cast<int>(bytes.size()));
  }
  /// Reads `count` bytes, fewer at the end of the connection.
  std::string Read(std::size_t count) const {
    std::string all;
    std::array<char, 16'384> buffer{};
    while (all.size() < count) {
      const auto wanted = static_cast<int>(std::min(buffer.size(), count - all.size()));
      const int got = SSL_read(tls_.get(), buffer.data(), wanted);
      if (got <= 0) break;
      all.append(buffer.data(), static_cast<std::size_t>(got));
    }
    return all;
  }
  std::string server_name() const {
    const X509* const certificate = SSL_get0_peer_certificate(tls_.get());
    std::array<char, 128> name{};
    X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, name.data(),
                              static_cast<int>(name.size()));
    return name.data();
  }

 private:
  /// A server that has closed the connection fails a write instead of ending the program.
  static void BlockSigpipe() {
    sigset_t pipe;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
  }

  TestClient socket_;
  std::unique_ptr<SSL_CTX, sockets::OpenSslFree<&SSL_CTX_free>> context_;
  sockets::TlsState tls_;
  bool is_shaken_ = false;
};

}  // namespace weir::transport
