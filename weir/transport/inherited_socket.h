// Sockets that the process got from systemd when it was started.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "weir/base/result.h"

namespace weir::transport {

struct InheritedSocket {
  std::string name;  ///< FileDescriptorName= of the unit; "unknown" if the unit names none
  int fd = -1;       ///< remains open as long as the process
};

/// Returns the value of an environment variable, or null.
using ReadEnvironment = std::function<const char*(const char*)>;

/// Returns the sockets of LISTEN_PID, LISTEN_FDS and LISTEN_FDNAMES (sd_listen_fds(3)), none if the
/// variables are meant for another process than `pid`. Returns kInvalidArgument if they are
/// malformed. Makes the descriptors close-on-exec.
Result<std::vector<InheritedSocket>> InheritedSockets(const ReadEnvironment& read, int pid);

}  // namespace weir::transport
