// One accepted connection, plain or TLS, with blocking calls.
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

  /// Reads at least one byte and at most `size`. Returns 0 at the end of the connection, orderly or
  /// not.
  virtual std::size_t Read(char* to, std::size_t size);
  virtual bool Write(std::string_view bytes);
  /// Ends a blocked Read. Any thread may call it.
  void Stop() const;

 protected:
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

/// A TLS server for localhost with a new self-signed certificate. It supports only HTTP/1.1.
class TlsServer {
 public:
  TlsServer();
  ~TlsServer();
  TlsServer(const TlsServer&) = delete;
  TlsServer& operator=(const TlsServer&) = delete;
  /// Returns the channel. The handshake takes place at the first Read.
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
