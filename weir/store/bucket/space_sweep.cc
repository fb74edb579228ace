#include "weir/store/bucket/space_sweep.h"

#include <algorithm>
#include <chrono>

#include "weir/store/bucket/stored_ahead.h"

namespace weir {
namespace {

// Bounds the time of a part: to remove a bucket takes longer than to examine one.
constexpr std::size_t kMaxRemoved = 100;
constexpr milliseconds kPause{1000};

}  // namespace

SpaceSweep::Swept SpaceSweep::Continue(Stripes stripes, std::atomic<std::size_t>& size, Part part,
                                       AheadReport& report) {
  if (!mutex_.try_lock()) return {};
  const Swept swept = SweepNow(stripes, size, part, report);
  mutex_.unlock();
  return swept;
}

SpaceSweep::Swept SpaceSweep::SweepNow(Stripes stripes, std::atomic<std::size_t>& size, Part& part,
                                       AheadReport& report) {
  const UnixMillis now = part.times.now;
  if (paused_at_ && std::chrono::abs(now - *paused_at_) < kPause) return {};
  paused_at_.reset();
  part.times.max_removed = kMaxRemoved;
  part.times.removes_unreported = true;
  Swept all;
  // The number of visits has a bound of its own, because nearly all stripes may be empty.
  for (std::size_t visits = 0; visits <= stripes.size(); ++visits) {
    if (all.examined >= part.max_examined || all.removed >= part.wanted) break;
    if (fruitless_ >= size) break;
    const Swept swept = SweepStripe(stripes, part.max_examined - all.examined, part.times, report);
    size -= swept.removed;
    all.examined += swept.examined;
    all.removed += swept.removed;
    all.has_changes |= swept.has_changes;
    fruitless_ = swept.removed > 0 ? 0 : fruitless_ + swept.examined;
  }
  if (fruitless_ >= size) {
    fruitless_ = 0;
    paused_at_ = now;
  }
  return all;
}

SpaceSweep::Swept SpaceSweep::SweepStripe(Stripes stripes, std::size_t most, SweepTimes& times,
                                          AheadReport& report) {
  BucketStripe& stripe = *stripes[stripe_];
  const MutexLock lock(stripe.mutex);
  const std::size_t size = stripe.entries.size();
  // The stripe may have shrunk since the last call.
  const std::size_t left = left_in_stripe_ == 0 ? size : std::min(left_in_stripe_, size);
  const std::size_t count = std::min(most, left);
  const std::size_t undrained = stripe.Undrained();
  const std::size_t removed = stripe.Sweep(count, times, report);
  left_in_stripe_ = left - count;
  if (left_in_stripe_ == 0) stripe_ = (stripe_ + 1) % stripes.size();
  // A part that has ended early, at its bound of removals, begins another round.
  return {.examined = count, .removed = removed, .has_changes = stripe.Undrained() > undrained};
}

}  // namespace weir
