// One accepted connection, plain or TLS, for blocking use.
#pragma once

#include <openssl/ssl.h>

#include <cstddef>
#include <memory>
#include <string_view>

namespace weir::bench {

/// The bytes of a connection. Owns its descriptor.
class Channel {
 public:
  explicit Channel(int descriptor) : descriptor_(descriptor) {}
  virtual ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  /// At least one byte, at most `size`; 0 at the end, whether orderly or not.
  virtual std::size_t Read(char* to, std::size_t size);
  virtual bool Write(std::string_view bytes);
  /// Ends a Read that waits, from any thread.
  void Stop() const;

 protected:
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

/// A certificate for localhost that is made now and signs itself; HTTP/1.1 is all it speaks.
class TlsServer {
 public:
  TlsServer();
  ~TlsServer();
  TlsServer(const TlsServer&) = delete;
  TlsServer& operator=(const TlsServer&) = delete;
  /// Does the handshake at the first Read.
  std::unique_ptr<Channel> Accept(int descriptor) const;

 private:
  SSL_CTX* context_;
};

/// Listens on a free port of the loopback interface.
struct Listener {
  Listener();
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  int descriptor;
  int port = 0;
};

}  // namespace weir::bench
