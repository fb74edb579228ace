#include "weir/transport/connection_bounds.h"

namespace weir::transport {

ConnectionBounds::Verdict ConnectionBounds::Admit(const std::string& peer_key) {
  const MutexLock lock(mutex_);
  if (max_connections_ != 0 && open_ >= max_connections_) return Verdict::kTooMany;
  if (max_per_peer_ != 0 && !peer_key.empty()) {
    const auto found = of_peer_.find(peer_key);
    if (found != of_peer_.end() && found->second >= max_per_peer_) return Verdict::kTooManyOfPeer;
    ++of_peer_[peer_key];
  }
  ++open_;
  return Verdict::kAdmitted;
}

void ConnectionBounds::Release(const std::string& peer_key) {
  const MutexLock lock(mutex_);
  --open_;
  const auto found = of_peer_.find(peer_key);
  if (found != of_peer_.end() && --found->second == 0) of_peer_.erase(found);
}

std::size_t ConnectionBounds::open() const {
  const MutexLock lock(mutex_);
  return open_;
}

}  // namespace weir::transport
