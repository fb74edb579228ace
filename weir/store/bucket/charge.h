// The request to a store, as charges on buckets, and its result.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/result.h"
#include "weir/base/time.h"
#include "weir/model/limit.h"

namespace weir {

/// Identifies one bucket: the state of all limits of one entity on one resource.
struct BucketKey {
  std::string entity;
  std::string resource;
  std::uint32_t shard = 0;

  friend auto operator<=>(const BucketKey&, const BucketKey&) = default;
};

/// The longest entity, resource and limit name of a bucket, in bytes.
inline constexpr std::size_t kLongestBucketText = 256;
/// Returns kInvalidArgument, with `what`, unless `text` is valid as in weir/model/stored_text.h, is
/// at most kLongestBucketText bytes long and contains no '#', which separates names in keys and
/// cursors. It may be empty.
[[nodiscard]] Status CheckBucketText(std::string_view what, std::string_view text);

/// Returns a hash that is equal on every machine and in every run (FNV-1a and a final mix), so that
/// a run can be replayed from its seed.
std::size_t HashOf(const BucketKey& key);

/// For hash tables.
struct BucketKeyHash {
  std::size_t operator()(const BucketKey& key) const { return HashOf(key); }
};

/// The origin of a target's limits.
enum class LimitSource : std::uint8_t {
  /// Resolution: all configured limits of the bucket, with their parameters.
  kConfigured,
  /// The request itself: it is judged by them, and they are not stored as configuration.
  kOverride,
};

/// A bucket and its limits at present. Immutable; it is resolved once and shared by all requests on
/// that bucket, so that a request contains only a pointer and numbers.
struct Target {
  BucketKey key;
  std::vector<Limit> limits;
  std::size_t hash = 0;  ///< HashOf(key)
  LimitSource source = LimitSource::kConfigured;
  /// True if the key and the names of the limits pass CheckBucketText. (MakeTarget checks it once.)
  bool is_storable = true;
};
using TargetPtr = std::shared_ptr<const Target>;

/// Returns a target with its hash and `is_storable` set.
TargetPtr MakeTarget(BucketKey key, std::vector<Limit> limits,
                     LimitSource source = LimitSource::kConfigured);

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
[[nodiscard]] Status CheckAcquire(std::span<const Charge> charges);

/// As CheckAcquire, but amounts are signed and may exceed the capacity, up to kMaxMillitokens
/// either way.
[[nodiscard]] Status CheckAdjust(std::span<const Charge> charges);

/// The state of one limit of a charged bucket at the time of the decision. Millitokens.
struct LimitStatus {
  std::string entity;
  std::string resource;
  std::string limit;
  std::int64_t capacity = 0;
  /// The balance before the decision; negative: debt. If the store divides the bucket into shards,
  /// it is that of the shards on which the request was tried; others may have more.
  std::int64_t available = 0;
  std::int64_t requested = 0;  ///< 0: the request does not take from this limit
  bool exceeded = false;
  milliseconds retry_after{0};  ///< 0 unless exceeded

  friend bool operator==(const LimitStatus&, const LimitStatus&) = default;
};

/// The result of a request: all charges were taken, or none.
struct Decision {
  bool admitted = false;
  /// If refused, the smallest wait in whole ms after which the same request is admitted if no other
  /// request changes the buckets. 0 if admitted.
  milliseconds retry_after{0};
  /// True if a response of the store was lost and the request was sent again: it was charged once,
  /// and perhaps twice.
  bool maybe_charged_twice = false;
  /// All limits of all charged buckets, in the order of the charges.
  std::vector<LimitStatus> limits;
  /// If admitted, the shard that was charged for each charge. An adjust of the request must pass it
  /// in Charge::shard. Only the store interprets it. Empty means 0 for all charges.
  std::vector<std::uint32_t> shards{};
  /// True if no limit refused the request, but other clients wrote to the same buckets until the
  /// store gave up or the deadline passed. No tokens are taken; another attempt after `retry_after`
  /// may succeed.
  bool contended = false;
  /// The number of equal parts of which `available` describes one, because the store divides the
  /// bucket and tried only that part.
  std::uint32_t of_shards = 1;
  /// True if no limit refused the request, but a bucket stores other parameters than the target,
  /// and the store saw them after Charge::resolved_at. Nothing was taken or changed. The caller
  /// must resolve the limits again without a cache, and repeat the request. `retry_after` is 0.
  bool outdated = false;

  friend bool operator==(const Decision&, const Decision&) = default;
};

}  // namespace weir
