// How the connections of a server ended.
#pragma once

#include <cstddef>

namespace weir::transport {

struct DrainResult {
  std::size_t ended = 0;  ///< connections that ended by themselves
  std::size_t cut = 0;    ///< connections that were still open at the deadline
};

}  // namespace weir::transport
