#include "weir/zae_table/bucket/bucket_lifetime.h"

#include <algorithm>

#include "weir/bucket/meter_times.h"

namespace weir::dynamo {
namespace {

// The item of an idle bucket expires after this many times the time that fills it (zae-limiter's
// bucket_ttl_multiplier).
constexpr double kFillTimes = 7;

// An add requires a ttl with enough time to refill twice the capacity. Other processes may use this
// amount after the image before an add fails because of the ttl.
constexpr double kSpareFills = 2;

// About 3,000 years, in ms. Debt that takes longer to repay may be forgotten after this time.
constexpr std::int64_t kLongestLife = 100'000'000'000'000;

}  // namespace

// Computes in floating point, because the products do not fit into 64 bits. The result is capped at
// kLongestLife and rounded up to seconds.
std::int64_t FullSince(UnixMillis now, const std::vector<LimitUpdate>& lines, double fills,
                       const std::optional<EvictedLimits>& gone) {
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
                   const std::optional<EvictedLimits>& gone) {
  return FullSince(now, lines, kFillTimes, gone);
}

std::optional<Lifetime> LifetimeOfAdd(const BucketImage& image,
                                      const std::vector<LimitUpdate>& lines, UnixMillis now) {
  if (!image.ttl_seconds) return std::nullopt;
  const std::int64_t needed = FullSince(now, lines, kSpareFills, image.evicted);
  if (*image.ttl_seconds >= needed) return Lifetime{needed, false};
  return Lifetime{TtlAt(now, lines, image.evicted), true};
}

std::int64_t LeastFullBy(std::int64_t ttl_seconds, const LimitUpdate& line, UnixMillis now) {
  if (ttl_seconds >= (now.value + kLongestLife) / 1000) return -kMaxDebt;
  return LeastFullIn(line.share, UnixMillis{ttl_seconds * 1000} - now);
}

}  // namespace weir::dynamo
