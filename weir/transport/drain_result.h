// How the connections of a server ended.
#pragma once

#include <cstddef>

namespace weir::transport {

struct DrainResult {
  std::size_t ended = 0;  ///< connections that ended by themselves
  /// Connections that were open at the deadline, or ended themselves with requests in progress.
  std::size_t cut = 0;
};

}  // namespace weir::transport
