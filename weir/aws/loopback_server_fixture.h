// An HTTP server on 127.0.0.1 that misbehaves as a test says.
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
  int connection = 0;  ///< 1 for the first that was accepted
  std::string head;    ///< request line and headers as they came, without the empty line
  std::string body;
};

struct ScriptedReply {
  std::string bytes;   ///< sent as they are; empty: no answer
  bool close = false;  ///< then close the connection, without having announced it
};

/// Reads requests (a body needs a content-length) on a thread for each connection, and does what
/// the script says of each.
class LoopbackServer {
 public:
  /// Called on the connections' threads, several at a time.
  using Script = std::function<ScriptedReply(const SeenRequest&)>;

  /// How much of a request is read before the script is asked; with kNothing it is not asked, and
  /// each connection is closed at once.
  enum class Reads { kAll, kHead, kNothing };

  explicit LoopbackServer(Script script, Reads reads = Reads::kAll);
  /// Closes everything and joins; the script must not block by then.
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

/// A port of 127.0.0.1 where nobody listens.
std::uint16_t ClosedPort();

/// "HTTP/1.1 200 OK" with this body and its length.
std::string Ok(const std::string& body);

}  // namespace weir
