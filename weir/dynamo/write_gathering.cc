#include "weir/dynamo/write_gathering.h"

#include <algorithm>

namespace weir::dynamo {
namespace {

constexpr int kHeldPartOfRoundTrip = 4;
constexpr nanoseconds kLongestHold = milliseconds(1);
constexpr int kMostMisses = 4;

}  // namespace

void WriteGathering::OnApplied(std::size_t answered, std::size_t pending, const Moment& moment) {
  if (answered < 2 || !moment.round_trip) return;
  if (skips_ > 0) {
    --skips_;
    return;
  }
  expected_ = answered + pending;
  until_ = moment.at + std::min(*moment.round_trip / kHeldPartOfRoundTrip, kLongestHold);
}

bool WriteGathering::MaySend(std::size_t pending, Instant now) {
  if (expected_ == 0) return true;
  const bool came_back = pending >= expected_;
  if (!came_back && now < until_) return false;
  misses_ = came_back ? 0 : std::min(misses_ + 1, kMostMisses);
  skips_ = (1 << misses_) - 1;
  expected_ = 0;
  return true;
}

}  // namespace weir::dynamo
