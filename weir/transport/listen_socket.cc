#include "weir/transport/listen_socket.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

namespace weir::transport {
namespace {

constexpr int kBacklog = 1024;
constexpr std::string_view kSystemdScheme = "systemd:";

std::string PathOf(const SocketAddress& address) {
  if (address.family() != AF_UNIX) return {};
  const auto& file = reinterpret_cast<const sockaddr_un&>(address.storage);
  return {file.sun_path, strnlen(file.sun_path, sizeof(file.sun_path))};
}

/// Returns the type of the file at the path of the address, without links; 0 if there is none.
mode_t FileType(const SocketAddress& address) {
  struct stat found{};
  const std::string path = PathOf(address);
  if (path.empty() || lstat(path.c_str(), &found) != 0) return 0;
  return found.st_mode & S_IFMT;
}

/// Removes the file of a socket whose process has ended. Any other file stays.
void RemoveStaleFile(const SocketAddress& address) {
  if (FileType(address) != S_IFSOCK) return;
  const UniqueFd probe(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (connect(probe.get(), address.get(), address.size) == 0 || errno != ECONNREFUSED) return;
  unlink(PathOf(address).c_str());
}

Error ListenError(const std::string& text, int error) {
  std::array<char, 128> buffer{};
  return {Code::kFailedPrecondition, fmt::format("cannot listen on '{}': {}", text,
                                                 strerror_r(error, buffer.data(), buffer.size()))};
}

}  // namespace

Result<ListenSocket> ListenSocket::Open(const std::string& text) {
  WEIR_ASSIGN_OR_RETURN(const SocketAddress address, ParseListenAddress(text));
  ListenSocket result(UniqueFd(socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC, 0)));
  if (!result.fd_.is_open()) return Fail(ListenError(text, errno));
  WEIR_RETURN_IF_ERROR(result.Bind(address, text));
  return result;
}

Status ListenSocket::Bind(const SocketAddress& address, const std::string& text) {
  const int on = 1;
  setsockopt(fd_.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (const mode_t type = FileType(address); type != 0 && type != S_IFSOCK) {
    return Fail(Code::kFailedPrecondition,
                fmt::format("cannot listen on '{}': the file is not a socket; give the path of "
                            "a socket, or of no file",
                            text));
  }
  RemoveStaleFile(address);
  if (bind(fd_.get(), address.get(), address.size) != 0) return Fail(ListenError(text, errno));
  if (address.family() == AF_UNIX) file_ = IdOf(PathOf(address));
  if (listen(fd_.get(), kBacklog) != 0) return Fail(ListenError(text, errno));
  return ReadAddress();
}

Result<ListenSocket> ListenSocket::Inherit(const InheritedSocket& socket) {
  int listens = 0;
  socklen_t size = sizeof(listens);
  const bool is_socket =
      getsockopt(socket.fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0 && listens != 0;
  ListenSocket result(UniqueFd(is_socket ? fcntl(socket.fd, F_DUPFD_CLOEXEC, 0) : -1));
  if (result.fd_.is_open()) {
    WEIR_RETURN_IF_ERROR(result.ReadAddress());
    return result;
  }
  return Fail(Code::kInvalidArgument,
              fmt::format("the inherited descriptor {} ('{}') is not a stream socket that listens",
                          socket.fd, socket.name));
}

Status ListenSocket::ReadAddress() {
  address_.size = sizeof(address_.storage);
  if (getsockname(fd_.get(), address_.get(), &address_.size) == 0) return {};
  return Fail(ListenError("socket", errno));
}

ListenSocket::FileId ListenSocket::IdOf(const std::string& path) {
  struct stat found{};
  if (lstat(path.c_str(), &found) != 0) return {};
  return {path, found.st_dev, found.st_ino};
}

ListenSocket::~ListenSocket() {
  if (file_.path.empty()) return;
  const FileId current = IdOf(file_.path);
  if (current.device == file_.device && current.number == file_.number) unlink(file_.path.c_str());
}

std::string ListenSocket::text() const {
  return address_.family() == AF_UNIX ? "unix:" + PathOf(address_) : TextOf(address_);
}

Status OpenListenSockets(const std::string& text, const std::vector<InheritedSocket>& inherited,
                         std::vector<ListenSocket>& sockets) {
  if (!text.starts_with(kSystemdScheme)) {
    WEIR_ASSIGN_OR_RETURN(ListenSocket opened, ListenSocket::Open(text));
    sockets.push_back(std::move(opened));
    return {};
  }
  const std::string_view name = std::string_view(text).substr(kSystemdScheme.size());
  std::string names;
  const std::size_t before = sockets.size();
  for (const InheritedSocket& socket : inherited) {
    names += fmt::format(" '{}'", socket.name);
    if (socket.name != name) continue;
    WEIR_ASSIGN_OR_RETURN(ListenSocket copy, ListenSocket::Inherit(socket));
    sockets.push_back(std::move(copy));
  }
  if (sockets.size() > before) return {};
  return Fail(Code::kInvalidArgument,
              fmt::format("listen address '{}': no socket of this name was inherited; there are:{}",
                          text, names.empty() ? " none" : names));
}

}  // namespace weir::transport
