#include "weir/aws/testing/loopback_server_fixture.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace weir {
namespace {

std::pair<int, std::uint16_t> Bind() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  bind(fd, reinterpret_cast<sockaddr*>(&address), size);
  getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  return {fd, ntohs(address.sin_port)};
}

/// Appends received bytes to `into`; returns false at the end of the connection.
bool ReadSome(int fd, std::string& into) {
  char buffer[4096];
  const ssize_t count = recv(fd, buffer, sizeof(buffer), 0);
  if (count > 0) into.append(buffer, static_cast<std::size_t>(count));
  return count > 0;
}

std::size_t BodyLength(const std::string& head) {
  const std::string name = "content-length:";
  const std::size_t at = head.find(name);
  return at == std::string::npos ? 0 : std::stoul(head.substr(at + name.size()));
}

/// Returns the next request of the connection; `unread` keeps the bytes after it.
std::optional<SeenRequest> ReadRequest(int fd, int connection, bool with_body,
                                       std::string& unread) {
  const std::string end = "\r\n\r\n";
  while (unread.find(end) == std::string::npos) {
    if (!ReadSome(fd, unread)) return std::nullopt;
  }
  const std::size_t body_at = unread.find(end) + end.size();
  SeenRequest request{connection, unread.substr(0, body_at - end.size()), ""};
  const std::size_t length = with_body ? BodyLength(request.head) : 0;
  while (unread.size() < body_at + length) {
    if (!ReadSome(fd, unread)) return std::nullopt;
  }
  request.body = unread.substr(body_at, length);
  unread.erase(0, body_at + length);
  return request;
}

}  // namespace

LoopbackServer::LoopbackServer(Script script, Reads reads)
    : script_(std::move(script)), reads_(reads) {
  std::tie(listener_, port_) = Bind();
  listen(listener_, 128);
  acceptor_ = std::thread([this] { Accept(); });
}

LoopbackServer::~LoopbackServer() {
  shutdown(listener_, SHUT_RDWR);
  acceptor_.join();
  close(listener_);
  {
    const std::lock_guard lock(mutex_);
    for (const int fd : open_) shutdown(fd, SHUT_RDWR);
  }
  for (std::thread& thread : threads_) thread.join();
}

std::vector<SeenRequest> LoopbackServer::seen() const {
  const std::lock_guard lock(mutex_);
  return seen_;
}

void LoopbackServer::Accept() {
  for (;;) {
    const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) return;
    const int connection = ++connections_;
    const std::lock_guard lock(mutex_);
    open_.push_back(fd);
    threads_.emplace_back([this, fd, connection] { Serve(fd, connection); });
  }
}

void LoopbackServer::Serve(int fd, int connection) {
  std::string unread;
  if (reads_ == Reads::kNothing) shutdown(fd, SHUT_RDWR);
  while (const auto request = ReadRequest(fd, connection, reads_ == Reads::kAll, unread)) {
    {
      const std::lock_guard lock(mutex_);
      seen_.push_back(*request);
    }
    const ScriptedReply reply = script_(*request);
    send(fd, reply.bytes.data(), reply.bytes.size(), MSG_NOSIGNAL);
    if (reply.close) break;
  }
  const std::lock_guard lock(mutex_);
  std::erase(open_, fd);
  close(fd);
}

std::uint16_t ClosedPort() {
  const auto [fd, port] = Bind();
  close(fd);
  return port;
}

std::string Ok(const std::string& body) {
  return "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

}  // namespace weir
