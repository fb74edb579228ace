#include "weir/aws/dead_addresses.h"

#include <algorithm>

namespace weir::internal {

void DeadAddresses::Add(const SocketAddress& address, Instant now) {
  Remove(address);
  if (dead_.size() == kMost) dead_.erase(dead_.begin());
  dead_.push_back({address, now + kRemembered});
}

void DeadAddresses::Remove(const SocketAddress& address) {
  std::erase_if(dead_, [&](const Dead& each) { return each.address == address; });
}

void DeadAddresses::PutLast(std::vector<SocketAddress>& addresses, Instant now) const {
  std::ranges::stable_partition(addresses, [&](const SocketAddress& address) {
    return std::ranges::none_of(
        dead_, [&](const Dead& each) { return each.address == address && now < each.until; });
  });
}

}  // namespace weir::internal
