// The bounds on the connections of a server, in all and of each peer.
#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>

#include "weir/base/mutex.h"

namespace weir::transport {

/// Thread-safe. A bound of 0 means no bound.
class ConnectionBounds {
 public:
  enum class Verdict { kAdmitted, kTooMany, kTooManyOfPeer };

  ConnectionBounds(std::size_t max_connections, std::size_t max_per_peer)
      : max_connections_(max_connections), max_per_peer_(max_per_peer) {}

  /// Counts a connection if the bounds allow it. The bound for each peer does not apply to an empty
  /// key (socket_address.h).
  Verdict Admit(const std::string& peer_key);
  /// Ends the count of a connection that was admitted.
  void Release(const std::string& peer_key);
  std::size_t open() const;

 private:
  const std::size_t max_connections_;
  const std::size_t max_per_peer_;
  mutable Mutex mutex_;
  std::size_t open_ WEIR_GUARDED_BY(mutex_) = 0;
  /// Only peers that have connections; empty if peers have no bound.
  std::unordered_map<std::string, std::size_t> of_peer_ WEIR_GUARDED_BY(mutex_);
};

}  // namespace weir::transport
