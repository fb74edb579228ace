#include "weir/transport/inherited_socket.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

namespace weir::transport {
namespace {

/// SD_LISTEN_FDS_START of sd-daemon.h.
constexpr int kFirstFd = 3;
constexpr int kMaxFds = 1'000;

std::optional<int> NumberOf(const char* text) {
  if (text == nullptr) return std::nullopt;
  const std::string_view digits = text;
  int number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return number;
}

/// Removes the text up to the first colon from `list` and returns it.
std::string TakeName(std::string_view& list) {
  const std::size_t end = std::min(list.find(':'), list.size());
  const std::string name(list.substr(0, end));
  list.remove_prefix(std::min(end + 1, list.size()));
  return name.empty() ? "unknown" : name;
}

}  // namespace

Result<std::vector<InheritedSocket>> InheritedSockets(const ReadEnvironment& read, int pid) {
  std::vector<InheritedSocket> sockets;
  if (NumberOf(read("LISTEN_PID")) != pid) return sockets;
  const std::optional<int> count = NumberOf(read("LISTEN_FDS"));
  if (!count || *count < 0 || *count > kMaxFds) {
    return Fail(Code::kInvalidArgument,
                fmt::format("LISTEN_FDS must be a number from 0 to {}", kMaxFds));
  }
  const char* const names = read("LISTEN_FDNAMES");
  std::string_view list = names == nullptr ? "" : names;
  for (int fd = kFirstFd; fd < kFirstFd + *count; ++fd) {
    if (fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) {
      return Fail(Code::kInvalidArgument,
                  fmt::format("LISTEN_FDS is {}, but the descriptor {} is not open", *count, fd));
    }
    sockets.push_back({.name = TakeName(list), .fd = fd});
  }
  return sockets;
}

}  // namespace weir::transport
