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

/// The parts of a service whose descriptors depend on its options.
struct ServiceParts {
  std::size_t threads = 0;            ///< event loops: three descriptors each
  std::size_t listeners = 0;          ///< sockets that listen
  std::size_t admin_connections = 0;  ///< the bound of the admin listener
};

/// Returns how many connections fit into this number of descriptors, at most `configured` (0: any
/// number) and at least 1. The rest is for `parts`, for the connections to the store, and for 64
/// other descriptors: those of the log, of a store's files, and of the files that a reload reads.
std::size_t BoundConnections(std::size_t configured, std::size_t descriptors,
                             const ServiceParts& parts);

}  // namespace weir::app
