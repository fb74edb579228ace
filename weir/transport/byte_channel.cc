#include "weir/transport/byte_channel.h"

#include <openssl/err.h>
#include <openssl/x509.h>
#include <sys/socket.h>

#include <cstddef>
#include <memory>

namespace weir::transport {

void ByteChannel::BeginTls(sockets::TlsState tls) {
  SSL_set_accept_state(tls.get());
  bytes_.BeginTls(std::move(tls));
}

std::string_view ByteChannel::protocol() const {
  const unsigned char* name = nullptr;
  unsigned size = 0;
  SSL_get0_alpn_selected(bytes_.tls(), &name, &size);
  return {reinterpret_cast<const char*>(name), size};
}

std::string ByteChannel::certificate_name() const {
  SSL* const tls = bytes_.tls();
  const X509* const certificate = tls == nullptr ? nullptr : SSL_get0_peer_certificate(tls);
  if (certificate == nullptr || SSL_get_verify_result(tls) != X509_V_OK) return {};
  const std::unique_ptr<BIO, sockets::OpenSslFree<&BIO_free_all>> memory(BIO_new(BIO_s_mem()));
  X509_NAME_print_ex(memory.get(), X509_get_subject_name(certificate), 0, XN_FLAG_RFC2253);
  const char* text = nullptr;
  const auto size = BIO_get_mem_data(memory.get(), &text);
  return {text, static_cast<std::size_t>(size)};
}

// A TLS record has at most 16 KB. Reads all available records, so that they become one call of the
// protocol and one write.
ByteChannel::Moved ByteChannel::Read(std::span<char> into) {
  if (!is_tls()) return bytes_.Read(into);
  std::size_t filled = 0;
  Moved moved;
  while (filled < into.size()) {
    moved = bytes_.Read(into.subspan(filled));
    if (moved.state != State::kOk) break;
    filled += moved.bytes;
  }
  // Also true after an end or a failure: the next Read reports it, and the socket may stay silent.
  has_more_ = filled > 0 && moved.state != State::kBlocked;
  return filled > 0 ? Moved{State::kOk, filled} : moved;
}

void ByteChannel::EndWrites() {
  if (is_tls()) {
    ERR_clear_error();
    SSL_shutdown(bytes_.tls());
    ERR_clear_error();
  }
  shutdown(fd_, SHUT_WR);
}

}  // namespace weir::transport
