// An HTTP server on 127.0.0.1 that behaves as a test's script says.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace weir {

struct SeenRequest {
  int connection = 0;  ///< 1 for the first connection that was accepted
  std::string head;    ///< request line and headers as received, without the empty line
  std::string body;
};

struct ScriptedReply {
  std::string bytes;   ///< sent unchanged; empty: no response
  bool close = false;  ///< then close the connection, without having announced it
};

/// Reads requests on one thread for each connection (a body needs a content-length), and responds
/// as the script says.
class LoopbackServer {
 public:
  /// Called on the connections' threads, several at a time.
  using Script = std::function<ScriptedReply(const SeenRequest&)>;

  /// The part of a request that is read before the script is called. With kNothing the script is
  /// not called, and each connection is closed at once.
  enum class Reads { kAll, kHead, kNothing };

  explicit LoopbackServer(Script script, Reads reads = Reads::kAll);
  /// Closes all connections and joins the threads; the script must not block any more.
  ~LoopbackServer();

  std::uint16_t port() const { return port_; }
  std::vector<SeenRequest> seen() const;
  int connections() const { return connections_; }

 private:
  void Accept();
  void Serve(int fd, int connection);

  const Script script_;
  const Reads reads_;
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::atomic<int> connections_ = 0;
  mutable std::mutex mutex_;
  std::vector<SeenRequest> seen_;
  std::vector<int> open_;
  std::vector<std::thread> threads_;
  std::thread acceptor_;
};

/// Returns a port of 127.0.0.1 on which no process listens.
std::uint16_t ClosedPort();

/// Returns "HTTP/1.1 200 OK" with this body and its length.
std::string Ok(const std::string& body);

}  // namespace weir
