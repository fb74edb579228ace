#include "weir/kinesis/metrics/windowed_statistic.h"

namespace weir::kinesis {
namespace {

std::int64_t SecondOf(Instant now) {
  return std::chrono::floor<std::chrono::seconds>(nanoseconds(now.nanos)).count();
}

std::size_t RingIndexOf(std::int64_t second) {
  constexpr std::int64_t kRing = WindowedStatistic::kSeconds;
  return static_cast<std::size_t>((second % kRing + kRing) % kRing);
}

}  // namespace

void Statistic::Add(const Statistic& other) {
  if (other.count == 0) return;
  min = count == 0 ? other.min : std::min(min, other.min);
  max = count == 0 ? other.max : std::max(max, other.max);
  sum += other.sum;
  count += other.count;
}

void WindowedStatistic::Add(const Statistic& samples, Instant now) {
  total_.Add(samples);
  untaken_.Add(samples);
  if (ring_.empty()) ring_.resize(kSeconds);
  const std::int64_t second = SecondOf(now);
  Bucket& bucket = ring_[RingIndexOf(second)];
  if (bucket.second != second) bucket = {second, {}};
  bucket.samples.Add(samples);
}

Statistic WindowedStatistic::Last(std::chrono::seconds window, Instant now) const {
  Statistic sum;
  const std::int64_t last = SecondOf(now);
  for (const Bucket& bucket : ring_) {
    const bool is_inside = bucket.second > last - window.count() && bucket.second <= last;
    if (is_inside) sum.Add(bucket.samples);
  }
  return sum;
}

}  // namespace weir::kinesis
