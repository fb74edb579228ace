// Objects of OpenSSL, with an owner.
#pragma once

#include <openssl/ssl.h>

#include <memory>

namespace weir::sockets {

template <auto Free>
struct OpenSslFree {
  template <class T>
  void operator()(T* object) const {
    Free(object);
  }
};
/// The TLS settings that connections share, and the TLS state of one connection.
using TlsContext = std::unique_ptr<SSL_CTX, OpenSslFree<&SSL_CTX_free>>;
using TlsState = std::unique_ptr<SSL, OpenSslFree<&SSL_free>>;

}  // namespace weir::sockets
