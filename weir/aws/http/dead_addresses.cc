#include "weir/aws/http/dead_addresses.h"

#include <algorithm>
#include <iterator>

namespace weir::internal {

void DeadAddresses::Add(const SocketAddress& address, Instant now) {
  Remove(address);
  if (dead_.size() == kMost) dead_.erase(dead_.begin());
  dead_.push_back({address, now + kRemembered});
}

void DeadAddresses::Remove(const SocketAddress& address) {
  std::erase_if(dead_, [&](const Dead& each) { return each.address == address; });
}

void DeadAddresses::MoveToEnd(std::vector<SocketAddress>& addresses, Instant now) const {
  std::vector<SocketAddress> last;
  const auto is_dead = [&](const SocketAddress& address) {
    return std::ranges::any_of(
        dead_, [&](const Dead& each) { return each.address == address && now < each.until; });
  };
  std::ranges::copy_if(addresses, std::back_inserter(last), is_dead);
  std::erase_if(addresses, is_dead);
  addresses.insert(addresses.end(), last.begin(), last.end());
}

}  // namespace weir::internal
