// A list of addresses that refused or did not respond, remembered for some seconds.
#pragma once

#include <vector>

#include "weir/aws/http/socket_address.h"
#include "weir/base/time.h"

namespace weir::internal {

/// Saves new connections from waiting for the same dead address again. Not thread-safe.
class DeadAddresses {
 public:
  static constexpr nanoseconds kRemembered = milliseconds(10'000);
  static constexpr std::size_t kMost = 16;  ///< stored addresses; then the oldest is removed

  void Add(const SocketAddress& address, Instant now);
  void Remove(const SocketAddress& address);
  /// Moves the dead addresses to the end; the order is otherwise unchanged.
  void MoveToEnd(std::vector<SocketAddress>& addresses, Instant now) const;

 private:
  struct Dead {
    SocketAddress address;
    Instant until;
  };
  std::vector<Dead> dead_;  ///< oldest first
};

}  // namespace weir::internal
