// Reports the state of the process to systemd (sd_notify(3)).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "apps/weir/command.h"
#include "weir/base/time.h"

namespace weir::app {

/// Does nothing unless systemd has set NOTIFY_SOCKET.
class ServiceManager {
 public:
  explicit ServiceManager(const ProcessContext& process);

  void NotifyReady() const { Send("READY=1"); }
  void NotifyStopping() const { Send("STOPPING=1"); }
  /// Reports that the process works, if the watchdog's time (WATCHDOG_USEC) is half over.
  void NotifyAlive(Instant now);

 private:
  void Send(std::string_view state) const;

  std::string socket_;  // empty: none
  std::optional<nanoseconds> interval_;
  Instant due_{};
};

}  // namespace weir::app
