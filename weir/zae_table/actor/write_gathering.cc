#include "weir/zae_table/actor/write_gathering.h"

#include <algorithm>

namespace weir::dynamo {
namespace {

constexpr int kHeldPartOfRoundTrip = 4;
constexpr nanoseconds kLongestHold = milliseconds(1);
constexpr int kMaxMisses = 4;
// A caller of a bucket and its parent gets its result after the later of two writes.
constexpr int kLapsesAfterRoundTrips = 2;

}  // namespace

void WriteGathering::OnApplied(std::size_t completed, std::size_t pending, std::size_t most,
                               const ProtocolTime& moment) {
  expected_ = 0;
  if (completed < 2 || !moment.round_trip) return;
  if (skips_ > 0) {
    --skips_;
    return;
  }
  expected_ = std::min(completed + pending, most);
  longest_ = std::min(*moment.round_trip / kHeldPartOfRoundTrip, kLongestHold);
  lapses_ = moment.at + *moment.round_trip * kLapsesAfterRoundTrips;
  until_ = kNoTime;
}

bool WriteGathering::MaySend(std::size_t pending, Instant now) {
  if (expected_ == 0) return true;
  // The hold begins with the first part. If that part came too late, there is no hold.
  if (until_ == kNoTime && pending > 0) until_ = now < lapses_ ? now + longest_ : now;
  const bool came_back = pending >= expected_;
  if (!came_back && now < until_) return false;
  misses_ = came_back ? 0 : std::min(misses_ + 1, kMaxMisses);
  skips_ = (1 << misses_) - 1;
  expected_ = 0;
  return true;
}

}  // namespace weir::dynamo
