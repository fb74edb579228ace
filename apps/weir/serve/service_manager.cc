#include "apps/weir/serve/service_manager.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>

#include "apps/weir/arguments.h"

namespace weir::app {

ServiceManager::ServiceManager(const ProcessContext& process)
    : socket_(process.environment("NOTIFY_SOCKET").value_or("")) {
  const auto pid = process.environment("WATCHDOG_PID");
  if (pid && *pid != std::to_string(getpid())) return;
  const auto text = process.environment("WATCHDOG_USEC");
  const auto micros = ParseIntegerInRange(text.value_or(""), 1, 1'000'000'000'000);
  if (micros) interval_ = std::chrono::microseconds(*micros) / 2;
}

void ServiceManager::NotifyAlive(Instant now) {
  if (!interval_ || now < due_) return;
  due_ = now + *interval_;
  Send("WATCHDOG=1");
}

// A manager that does not listen is no error of this process.
void ServiceManager::Send(std::string_view state) const {
  sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = {}};
  if (socket_.empty() || socket_.size() >= sizeof address.sun_path) return;
  std::memcpy(address.sun_path, socket_.data(), socket_.size());
  if (address.sun_path[0] == '@') address.sun_path[0] = '\0';
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return;
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_.size());
  [[maybe_unused]] const ssize_t sent =
      sendto(fd, state.data(), state.size(), MSG_NOSIGNAL | MSG_DONTWAIT,
             reinterpret_cast<const sockaddr*>(&address), length);  // NOLINT
  close(fd);
}

}  // namespace weir::app
