#include "weir/sim/kinesis/kinesis_quota.h"

#include <algorithm>

namespace weir::sim {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

}  // namespace

ShardQuota::ShardQuota(const KinesisLimits& limits, Instant now)
    : limits_(limits),
      at_(now),
      records_(Wide{limits.records_per_second} * kSecond),
      bytes_(Wide{limits.bytes_per_second} * kSecond) {}

// Amounts are in billionths: a rate of n per second adds n billionths per nanosecond. Fixed windows
// refill completely when a new second begins.
void ShardQuota::BringTo(Instant now) {
  const Wide max_records = Wide{limits_.records_per_second} * kSecond;
  const Wide max_bytes = Wide{limits_.bytes_per_second} * kSecond;
  const std::int64_t passed = limits_.fixed_windows
                                  ? (now.nanos / kSecond - at_.nanos / kSecond) * kSecond
                                  : now.nanos - at_.nanos;
  records_ = std::min(max_records, records_ + Wide{limits_.records_per_second} * passed);
  bytes_ = std::min(max_bytes, bytes_ + Wide{limits_.bytes_per_second} * passed);
  at_ = now;
}

bool ShardQuota::Take(std::int64_t bytes, Instant now) {
  BringTo(now);
  const Wide needed = Wide{std::min(bytes, limits_.bytes_per_second)} * kSecond;
  if (records_ < kSecond || bytes_ < needed) return false;
  records_ -= kSecond;
  bytes_ -= Wide{bytes} * kSecond;
  return true;
}

}  // namespace weir::sim
