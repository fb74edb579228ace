// A client that blocks, for tests.
#pragma once

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "weir/transport/socket_address.h"
#include "weir/transport/unique_fd.h"

namespace weir::transport {

class TestClient {
 public:
  /// Connects to an address of Server::addresses, from the address `from` if that is not empty.
  explicit TestClient(const std::string& address, const std::string& from = {}) {
    const SocketAddress to = *ParseListenAddress(address);
    fd_ = UniqueFd(socket(to.family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!from.empty()) {
      const SocketAddress own = *ParseListenAddress(from);
      EXPECT_EQ(bind(fd_.get(), own.get(), own.size), 0) << from;
    }
    is_connected_ = connect(fd_.get(), to.get(), to.size) == 0;
    // Otherwise a small part is sent only when the server has acknowledged the bytes before it.
    const int on = 1;
    if (to.family() != AF_UNIX) setsockopt(fd_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }

  int fd() const { return fd_.get(); }
  bool is_connected() const { return is_connected_; }
  void Send(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t count = send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (count <= 0) return;
      bytes.remove_prefix(static_cast<std::size_t>(count));
    }
  }
  /// Sends until the socket is full, at most `max` bytes. Returns how many bytes it sent.
  std::size_t SendUntilFull(std::size_t max) const {
    const std::string part(64 * 1024, 'x');
    std::size_t sent = 0;
    while (sent < max) {
      const ssize_t count = send(fd_.get(), part.data(), part.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (count <= 0) break;
      sent += static_cast<std::size_t>(count);
    }
    return sent;
  }
  /// Reads `count` bytes, fewer at the end of the connection.
  std::string Read(std::size_t count) const {
    std::string all;
    std::array<char, 65'536> buffer{};
    while (all.size() < count) {
      const std::size_t wanted = std::min(buffer.size(), count - all.size());
      const ssize_t got = recv(fd_.get(), buffer.data(), wanted, 0);
      if (got <= 0) break;
      all.append(buffer.data(), static_cast<std::size_t>(got));
    }
    return all;
  }
  /// Reads all bytes up to the end. Returns "reset" after them if the connection was reset.
  std::string ReadToEnd() const {
    std::string all = Read(SIZE_MAX);
    std::array<char, 1> byte{};
    return recv(fd_.get(), byte.data(), 1, 0) == 0 ? all : all + "reset";
  }
  void EndWrites() const { shutdown(fd_.get(), SHUT_WR); }
  /// Closes with a reset.
  void Reset() {
    const linger now{.l_onoff = 1, .l_linger = 0};
    setsockopt(fd_.get(), SOL_SOCKET, SO_LINGER, &now, sizeof(now));
    Close();
  }
  void Close() { fd_ = UniqueFd(); }

 private:
  UniqueFd fd_;
  bool is_connected_ = false;
};

}  // namespace weir::transport
