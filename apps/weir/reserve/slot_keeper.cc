#include "apps/weir/reserve/slot_keeper.h"

#include <algorithm>

namespace weir::app {
namespace {

milliseconds ThirdOf(milliseconds ttl) { return std::max(ttl / 3, milliseconds(1)); }

}  // namespace

SlotKeeper::SlotKeeper(milliseconds ttl, UnixMillis expires, UnixMillis now)
    : ttl_(ttl), expires_(expires), next_(now + ThirdOf(ttl)) {}

// At the expiry the slot is lost if a renewal is still in flight or the last one failed. Otherwise
// the process was paused: one more renewal is started, with a short timeout.
SlotKeeper::Step SlotKeeper::Advance(UnixMillis now) {
  if (state_ == State::kDone || state_ == State::kLost || now < next_) return Step::kWait;
  const bool has_expired = now >= expires_;
  if (state_ == State::kRenewing || (has_expired && has_failed_)) return GiveUp();
  state_ = State::kRenewing;
  next_ = has_expired ? now + RetryInterval() : expires_;
  return Step::kRenew;
}

SlotKeeper::Step SlotKeeper::GiveUp() {
  state_ = State::kLost;
  return Step::kGiveUp;
}

std::optional<UnixMillis> SlotKeeper::next() const {
  if (state_ == State::kDone || state_ == State::kLost) return std::nullopt;
  return next_;
}

// Results that arrive after a loss or a binding are ignored.
void SlotKeeper::Renewed(UnixMillis expires, UnixMillis now) {
  if (state_ != State::kRenewing) return;
  state_ = State::kHeld;
  has_failed_ = false;
  expires_ = expires;
  next_ = std::min(now + ThirdOf(ttl_), expires);
}

void SlotKeeper::Failed(UnixMillis now) {
  if (state_ != State::kRenewing) return;
  state_ = State::kHeld;
  has_failed_ = true;
  next_ = std::min(now + RetryInterval(), expires_);
}

void SlotKeeper::NotHeld(UnixMillis now) {
  if (state_ != State::kRenewing) return;
  const bool was_released = now < expires_;  // the process may have been paused
  state_ = was_released ? State::kDone : State::kHeld;
  has_failed_ = true;
  next_ = expires_;
}

milliseconds SlotKeeper::RetryInterval() const {
  return std::clamp(ttl_ / 10, milliseconds(100), milliseconds(5'000));
}

}  // namespace weir::app
