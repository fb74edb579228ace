// What `weir serve` changes of its process: signals and descriptors.
#pragma once

#include <cstddef>

#include "weir/base/result.h"

namespace weir::app {

/// To be called before anything is opened. From here on SIGHUP is an event of ReadSignal, and a
/// closed output is an error of a write, not the end of the process (SIGPIPE). Turns off protobuf's
/// own log, and raises the bound of descriptors to the highest that the system allows this process
/// (RLIMIT_NOFILE). Returns the errors of CatchSignals.
[[nodiscard]] Status PrepareServiceProcess();

/// Returns how many descriptors the process may have open.
std::size_t DescriptorLimit();

/// Returns how many connections fit into this number of descriptors, at most `configured` (0: any
/// number) and at least 1. The rest is for `admin` connections of the admin listener, the event
/// loops, the listeners, the store and the log.
std::size_t BoundConnections(std::size_t configured, std::size_t descriptors, std::size_t admin);

}  // namespace weir::app
