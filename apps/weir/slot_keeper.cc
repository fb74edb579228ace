#include "apps/weir/slot_keeper.h"

#include <algorithm>

namespace weir::app {

SlotKeeper::SlotKeeper(milliseconds ttl, UnixMillis expires, UnixMillis now)
    : ttl_(ttl), expires_(expires), next_(now + ttl / 3) {}

void SlotKeeper::Renewed(UnixMillis expires, UnixMillis now) {
  expires_ = expires;
  next_ = now + ttl_ / 3;
}

void SlotKeeper::Failed(UnixMillis now) {
  const milliseconds pause = std::clamp(ttl_ / 10, milliseconds(100), milliseconds(5'000));
  next_ = std::min(now + pause, expires_);
}

}  // namespace weir::app
