#include "weir/dynamo/bucket_lifetime.h"

#include <algorithm>

#include "weir/bucket/meter_times.h"

namespace weir::dynamo {
namespace {

// The item of an idle bucket expires after this many times the time that fills it (zae-limiter's
// bucket_ttl_multiplier).
constexpr double kFillTimes = 7;

// Writes of others that were not seen may use twice the capacity before an add fails for its ttl.
constexpr double kSpareFills = 2;

// About 3,000 years, in ms: debt that takes longer may be forgotten then.
constexpr std::int64_t kLongestLife = 100'000'000'000'000;

}  // namespace

std::int64_t FullSince(UnixMillis now, const std::vector<LimitUpdate>& lines, double fills,
                       const std::optional<EarlyLeavers>& gone) {
  double longest = 0;
  for (const LimitUpdate& line : lines) {
    if (line.absent) continue;
    Meter left = line.conformed;
    left.tokens -= line.amounts.used();
    const auto repaid = static_cast<double>(RetryAfter(left, left.quota.capacity).count());
    const double fill = static_cast<double>(line.quota.capacity) /
                        static_cast<double>(line.quota.amount) *
                        static_cast<double>(line.quota.period);
    longest = std::max(longest, repaid + fill * fills);
  }
  const double life = std::min(longest, static_cast<double>(kLongestLife));
  const UnixMillis full = now + milliseconds(static_cast<std::int64_t>(life));
  return (gone ? std::max(full, gone->left_full) : full).value / 1000 + 1;
}

std::int64_t TtlAt(UnixMillis now, const std::vector<LimitUpdate>& lines,
                   const std::optional<EarlyLeavers>& gone) {
  return FullSince(now, lines, kFillTimes, gone);
}

std::optional<Lifetime> LifetimeOfAdd(const BucketImage& image,
                                      const std::vector<LimitUpdate>& lines, UnixMillis now) {
  if (!image.ttl_seconds) return std::nullopt;
  const std::int64_t needed = FullSince(now, lines, kSpareFills, image.gone);
  if (*image.ttl_seconds >= needed) return Lifetime{needed, false};
  return Lifetime{TtlAt(now, lines, image.gone), true};
}

std::int64_t LeastFullBy(std::int64_t ttl_seconds, const LimitUpdate& line, UnixMillis now) {
  if (ttl_seconds >= (now.value + kLongestLife) / 1000) return -kMaxDebt;
  return LeastFullIn(line.share, UnixMillis{ttl_seconds * 1000} - now);
}

}  // namespace weir::dynamo
