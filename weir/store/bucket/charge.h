// The request to a store, as charges on buckets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/api.h"
#include "weir/base/result.h"
#include "weir/base/time.h"
#include "weir/model/limit.h"
#include "weir/store/bucket/bucket_key.h"
#include "weir/store/bucket/decision.h"

namespace weir {

/// The origin of a target's limits.
enum class LimitSource : std::uint8_t {
  /// From resolution: all configured limits of the bucket, with their parameters.
  kConfigured,
  /// From the request itself: they apply to it, and are not stored as configuration.
  kOverride,
};

/// A bucket and its limits at present. Immutable; it is resolved once and shared by all requests on
/// that bucket, so that a request contains only a pointer and numbers.
struct Target {
  BucketKey key;
  std::vector<Limit> limits;
  /// The names of the limits that block (Blocks). They are not among `limits`: a caller refuses
  /// requests for them, and no store sees them.
  std::vector<std::string> blocked{};
  std::size_t hash = 0;  ///< HashOf(key)
  LimitSource source = LimitSource::kConfigured;
  /// True if the key and the names of the limits pass CheckBucketText. (MakeTarget checks it once.)
  bool is_storable = true;
};
using TargetPtr = std::shared_ptr<const Target>;

/// Returns a target with its hash and `is_storable` set. The limits that block become `blocked`.
WEIR_API TargetPtr MakeTarget(BucketKey key, std::vector<Limit> limits,
                              LimitSource source = LimitSource::kConfigured);

/// Returns whether two targets are the same bucket, perhaps with different limits.
inline bool SameBucket(const Target& a, const Target& b) {
  return &a == &b || (a.hash == b.hash && a.key == b.key);
}

/// Returns whether two targets have the same limits, including those that block.
inline bool SameLimits(const Target& a, const Target& b) {
  return a.limits == b.limits && a.blocked == b.blocked;
}

/// Returns whether the target has a limit of this name that blocks.
WEIR_API bool IsBlocked(const Target& target, std::string_view limit);

/// For hash tables with one entry for each bucket.
struct TargetHash {
  std::size_t operator()(const TargetPtr& target) const { return target->hash; }
};
struct WEIR_API TargetEqual {
  bool operator()(const TargetPtr& a, const TargetPtr& b) const { return SameBucket(*a, *b); }
};

/// The part of a request on one bucket: `amounts[i]` millitokens of `target->limits[i]`. In an
/// acquire, amounts are not negative, and a limit with amount 0 is not charged. In an adjust,
/// amounts are signed.
struct Charge {
  TargetPtr target;
  std::vector<std::int64_t> amounts;
  /// In an adjust: the shard of the bucket, from Decision::shards. An acquire ignores it, and so
  /// does a store that does not divide buckets.
  std::uint32_t shard = 0;
  /// The time at which the reads that resolved the target's limits began, on the limiter's
  /// monotonic clock (Clock::Now). The default means that they are current.
  Instant resolved_at{INT64_MAX};
};

/// The largest number of charges in one request.
inline constexpr std::size_t kMaxCharges = 100;

/// Returns kInvalidArgument, with the entity, the resource and the limit, unless there are 1 to
/// kMaxCharges charges on different storable targets, with one amount for each limit, none negative
/// and none over the capacity (such a request could never be admitted).
[[nodiscard]] WEIR_API Status CheckAcquire(std::span<const Charge> charges);

/// Like CheckAcquire, but amounts are signed and may exceed the capacity, up to kMaxMillitokens
/// either way.
[[nodiscard]] WEIR_API Status CheckAdjust(std::span<const Charge> charges);

}  // namespace weir
