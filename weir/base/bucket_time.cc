#include "weir/base/bucket_time.h"

#include <algorithm>
#include <array>

namespace weir {
namespace {

UnixMillis BaseNow(const Clock& clock) {
  const UnixMillis wall = clock.WallNow();
  return wall - std::chrono::floor<milliseconds>(clock.BootNow());
}

}  // namespace

BucketTime BucketTime::FromWall(const Clock& clock) { return {clock, BaseNow(clock)}; }

BucketTime BucketTime::FromMedian(const Clock& clock) {
  std::array<UnixMillis, 3> bases = {BaseNow(clock), BaseNow(clock), BaseNow(clock)};
  std::ranges::sort(bases);
  return {clock, bases[1]};
}

}  // namespace weir
