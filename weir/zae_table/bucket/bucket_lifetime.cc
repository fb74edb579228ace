#include "weir/zae_table/bucket/bucket_lifetime.h"

#include <algorithm>

#include "weir/bucket/meter_times.h"

namespace weir::dynamo {
namespace {

// The item of an idle bucket expires after this many times the time that fills it (zae-limiter's
// bucket_ttl_multiplier).
constexpr double kFillTimes = 7;

// An add requires a ttl that leaves enough time to refill twice the capacity. So other processes
// may use this amount after the image was seen, before an add fails because of the ttl.
constexpr double kSpareFills = 2;

// About 3,000 years, in ms. Debt that takes longer to repay may be forgotten after this time.
constexpr std::int64_t kLongestLife = 100'000'000'000'000;

}  // namespace

// Computes in floating point, because the products do not fit into 64 bits. The result is capped at
// kLongestLife and rounded up to seconds.
std::int64_t FullSince(UnixMillis now, const std::vector<LimitUpdate>& updates, double fills,
                       const std::optional<EvictedLimits>& gone) {
  double longest = 0;
  for (const LimitUpdate& update : updates) {
    if (update.absent) continue;
    Meter after = update.conformed;
    after.tokens -= update.amounts.used();
    const auto repaid = static_cast<double>(RetryAfter(after, after.quota.capacity).count());
    const double fill = static_cast<double>(update.quota.capacity) /
                        static_cast<double>(update.quota.amount) *
                        static_cast<double>(update.quota.period);
    longest = std::max(longest, repaid + fill * fills);
  }
  const double life = std::min(longest, static_cast<double>(kLongestLife));
  const UnixMillis full = now + milliseconds(static_cast<std::int64_t>(life));
  return (gone ? std::max(full, gone->left_full) : full).value / 1000 + 1;
}

std::int64_t TtlAt(UnixMillis now, const std::vector<LimitUpdate>& updates,
                   const std::optional<EvictedLimits>& gone) {
  return FullSince(now, updates, kFillTimes, gone);
}

std::optional<Lifetime> LifetimeOfAdd(const BucketImage& image,
                                      const std::vector<LimitUpdate>& updates, UnixMillis now) {
  if (!image.ttl_seconds) return std::nullopt;
  const std::int64_t needed = FullSince(now, updates, kSpareFills, image.evicted);
  if (*image.ttl_seconds >= needed) return Lifetime{needed, false};
  return Lifetime{TtlAt(now, updates, image.evicted), true};
}

std::int64_t LeastFullBy(std::int64_t ttl_seconds, const LimitUpdate& update, UnixMillis now) {
  if (ttl_seconds >= (now.value + kLongestLife) / 1000) return -kMaxDebt;
  return LeastFullIn(update.share, UnixMillis{ttl_seconds * 1000} - now);
}

}  // namespace weir::dynamo
