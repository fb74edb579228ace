// Addresses that did not answer, for some seconds.
#pragma once

#include <vector>

#include "weir/aws/socket_address.h"
#include "weir/base/time.h"

namespace weir::internal {

/// So that not each new connection pays for the same address again. Not thread-safe.
class DeadAddresses {
 public:
  static constexpr nanoseconds kRemembered = milliseconds(10'000);
  static constexpr std::size_t kMost = 16;  ///< then the oldest is forgotten

  void Add(const SocketAddress& address, Instant now);
  void Remove(const SocketAddress& address);
  /// Moves the dead ones behind the others; the order stays otherwise.
  void PutLast(std::vector<SocketAddress>& addresses, Instant now) const;

 private:
  struct Dead {
    SocketAddress address;
    Instant until;
  };
  std::vector<Dead> dead_;  ///< the oldest first
};

}  // namespace weir::internal
