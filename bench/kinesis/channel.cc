#include "bench/kinesis/channel.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/tcp.h>
#include <openssl/evp.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>

namespace weir::bench {
namespace {

void Require(bool good, std::string_view what) {
  if (good) return;
  fmt::print(stderr, "responder: {} failed\n", what);
  std::exit(1);
}

class TlsChannel : public Channel {
 public:
  TlsChannel(int descriptor, SSL_CTX* context) : Channel(descriptor), session_(SSL_new(context)) {
    SSL_set_fd(session_, descriptor);
    SSL_set_accept_state(session_);
  }
  ~TlsChannel() override {
    SSL_shutdown(session_);
    SSL_free(session_);
  }

  std::size_t Read(char* to, std::size_t size) override {
    std::size_t got = 0;
    return SSL_read_ex(session_, to, size, &got) == 1 ? got : 0;
  }
  bool Write(std::string_view bytes) override {
    std::size_t put = 0;
    return SSL_write_ex(session_, bytes.data(), bytes.size(), &put) == 1;
  }

 private:
  SSL* session_;
};

struct Certificate {
  std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key{EVP_EC_gen("P-256"), &EVP_PKEY_free};
  std::unique_ptr<X509, decltype(&X509_free)> text{X509_new(), &X509_free};
};

void AddExtension(X509* certificate, int kind, const char* value) {
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, kind, value);
  Require(extension != nullptr, "a certificate's extension");
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

Certificate MakeCertificate() {
  constexpr long kDay = 86'400;
  Certificate made;
  X509* text = made.text.get();
  X509_set_version(text, X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(text), 1);
  X509_gmtime_adj(X509_getm_notBefore(text), -kDay);
  X509_gmtime_adj(X509_getm_notAfter(text), kDay);
  X509_set_pubkey(text, made.key.get());
  X509_NAME* name = X509_get_subject_name(text);
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>("localhost"), -1, -1, 0);
  X509_set_issuer_name(text, name);
  AddExtension(text, NID_basic_constraints, "critical,CA:TRUE");
  AddExtension(text, NID_subject_alt_name, "DNS:localhost,IP:127.0.0.1");
  Require(X509_sign(text, made.key.get(), EVP_sha256()) > 0, "signing a certificate");
  return made;
}

int ChooseHttp11(SSL*, const unsigned char** out, unsigned char* out_size, const unsigned char* in,
                 unsigned int in_size, void*) {
  static constexpr unsigned char kOurs[] = "\x08http/1.1";
  unsigned char* chosen = nullptr;
  const int found = SSL_select_next_proto(&chosen, out_size, kOurs, sizeof(kOurs) - 1, in, in_size);
  *out = chosen;
  return found == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_NOACK;
}

}  // namespace

Channel::~Channel() { close(descriptor_); }

std::size_t Channel::Read(char* to, std::size_t size) {
  const ssize_t got = recv(descriptor_, to, size, 0);
  return got > 0 ? static_cast<std::size_t>(got) : 0;
}

bool Channel::Write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (put <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  return true;
}

void Channel::Stop() const { shutdown(descriptor_, SHUT_RDWR); }

TlsServer::TlsServer() : context_(SSL_CTX_new(TLS_server_method())) {
  const Certificate certificate = MakeCertificate();
  Require(SSL_CTX_use_certificate(context_, certificate.text.get()) == 1 &&
              SSL_CTX_use_PrivateKey(context_, certificate.key.get()) == 1,
          "taking a certificate");
  SSL_CTX_set_alpn_select_cb(context_, &ChooseHttp11, nullptr);
  SSL_CTX_set_read_ahead(context_, 1);
}

TlsServer::~TlsServer() { SSL_CTX_free(context_); }

std::unique_ptr<Channel> TlsServer::Accept(int descriptor) const {
  return std::make_unique<TlsChannel>(descriptor, context_);
}

Listener::Listener() : descriptor(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int on = 1;
  setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  socklen_t size = sizeof(address);
  Require(bind(descriptor, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
              listen(descriptor, SOMAXCONN) == 0 &&
              getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size) == 0,
          "listening on the loopback interface");
  port = ntohs(address.sin_port);
}

Listener::~Listener() { close(descriptor); }

}  // namespace weir::bench
