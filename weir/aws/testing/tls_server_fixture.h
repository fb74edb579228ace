// A TLS server on 127.0.0.1 with a certificate that no authority signed. Tests only.
#pragma once

#include <arpa/inet.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

namespace weir {

/// Serves one connection after the other, if its handshake succeeds.
class SelfSignedServer {
 public:
  /// Called on the server's thread; the connection is closed when it returns.
  using Serve = std::function<void(SSL&)>;

  /// `alternative_name` has the form of OpenSSL's configuration, such as "DNS:a.example"; the
  /// common name is "localhost".
  explicit SelfSignedServer(Serve serve = &RespondOk, const char* alternative_name = nullptr,
                            int latest_version = TLS1_3_VERSION)
      : serve_(std::move(serve)) {
    SSL_CTX_set_max_proto_version(context_.get(), latest_version);
    Certify(alternative_name);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    bind(listener_, any, size);
    listen(listener_, 8);
    getsockname(listener_, any, &size);
    port_ = ntohs(address.sin_port);
    acceptor_ = std::jthread([this] { Accept(); });
  }
  ~SelfSignedServer() {
    shutdown(listener_, SHUT_RDWR);
    acceptor_.join();
    close(listener_);
  }
  SelfSignedServer(const SelfSignedServer&) = delete;
  SelfSignedServer& operator=(const SelfSignedServer&) = delete;

  /// Responds "200 OK" to the first request.
  static void RespondOk(SSL& tls) {
    std::array<char, 4096> request{};
    if (SSL_read(&tls, request.data(), static_cast<int>(request.size())) <= 0) return;
    Write(tls, "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok");
    SSL_shutdown(&tls);
  }
  static void Write(SSL& tls, std::string_view bytes) {
    SSL_write(&tls, bytes.data(), static_cast<int>(bytes.size()));
  }

  std::uint16_t port() const { return port_; }
  /// In PEM.
  const std::string& certificate() const { return certificate_; }

 private:
  template <class T, void (*Free)(T*)>
  struct FreeBy {
    void operator()(T* what) const { Free(what); }
  };
  template <class T, void (*Free)(T*)>
  using Owned = std::unique_ptr<T, FreeBy<T, Free>>;

  void Certify(const char* alternative_name) {
    const Owned<EVP_PKEY, EVP_PKEY_free> key(EVP_EC_gen("P-256"));
    const Owned<X509, X509_free> certificate(X509_new());
    X509_set_version(certificate.get(), 2);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), 1);
    X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -3600);
    X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 3600);
    X509_set_pubkey(certificate.get(), key.get());
    X509_NAME* const name = X509_get_subject_name(certificate.get());
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>("localhost"), -1, -1, 0);
    X509_set_issuer_name(certificate.get(), name);
    if (alternative_name != nullptr) {
      const Owned<X509_EXTENSION, X509_EXTENSION_free> names(
          X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, alternative_name));
      X509_add_ext(certificate.get(), names.get(), -1);
    }
    X509_sign(certificate.get(), key.get(), EVP_sha256());
    SSL_CTX_use_certificate(context_.get(), certificate.get());
    certificate_ = ToPem(*certificate);
    SSL_CTX_use_PrivateKey(context_.get(), key.get());
  }

  static std::string ToPem(const X509& certificate) {
    const Owned<BIO, BIO_free_all> memory(BIO_new(BIO_s_mem()));
    PEM_write_bio_X509(memory.get(), &certificate);
    const char* text = nullptr;
    const auto size = BIO_get_mem_data(memory.get(), &text);
    return {text, static_cast<std::size_t>(size)};
  }

  void Accept() {
    // Blocked, so that a client that disconnects early fails a write instead of ending the program.
    sigset_t pipe;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
    for (int fd; (fd = accept(listener_, nullptr, nullptr)) >= 0; close(fd)) {
      const Owned<SSL, SSL_free> tls(SSL_new(context_.get()));
      SSL_set_fd(tls.get(), fd);
      if (SSL_accept(tls.get()) == 1) serve_(*tls);
    }
  }

  const Serve serve_;
  const Owned<SSL_CTX, SSL_CTX_free> context_{SSL_CTX_new(TLS_server_method())};
  const int listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  std::uint16_t port_ = 0;
  std::string certificate_;
  std::jthread acceptor_;
};

}  // namespace weir
