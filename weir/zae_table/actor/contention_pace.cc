#include "weir/zae_table/actor/contention_pace.h"

#include <algorithm>

namespace weir::dynamo {
namespace {

// After the first few losses in a row, every second one is followed by a pause, so that the writes
// of many processes do not all arrive at once. The write after a pause relies on an image that is
// old by then, and mostly loses; the one after that has a fresh image. If every loss were followed
// by a pause, a process that writes without pauses would keep all others from the bucket.
constexpr int kLostAtOnce = 4;
constexpr nanoseconds kLostPause = milliseconds(10);
constexpr int kMaxLostPauses = 5;

constexpr nanoseconds kFirstPause = milliseconds(25);
constexpr int kMaxDoublings = 4;

nanoseconds DrawnBelow(nanoseconds longest, std::uint64_t draw) {
  return nanoseconds(static_cast<std::int64_t>(draw % static_cast<std::uint64_t>(longest.count())));
}

}  // namespace

void ContentionPace::OnLost(std::size_t parts, bool takes_less, Instant now, std::uint64_t draw) {
  ++lost_;
  if (takes_less) max_takes_ = std::max<std::size_t>(std::min(parts, max_takes_) / 2, 1);
  if (lost_ < kLostAtOnce || (lost_ - kLostAtOnce) % 2 != 0) return;
  const int times = std::min(lost_ - kLostAtOnce + 1, kMaxLostPauses);
  until_ = now + DrawnBelow(kLostPause * times, draw);
}

void ContentionPace::Pause(Instant now, std::uint64_t draw) {
  const nanoseconds longest = kFirstPause * (1 << std::min(pauses_++, kMaxDoublings));
  const nanoseconds least = longest / 2;
  until_ = now + least + DrawnBelow(longest - least, draw);
}

}  // namespace weir::dynamo
