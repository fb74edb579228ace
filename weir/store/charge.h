// What is asked of a store: one bucket's part of a request, and the answer.
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

/// Names one bucket: the state of all limits of one entity on one resource.
struct BucketKey {
  std::string entity;
  std::string resource;
  std::uint32_t shard = 0;

  friend auto operator<=>(const BucketKey&, const BucketKey&) = default;
};

/// Longest entity, resource and limit name of a bucket, in bytes.
inline constexpr std::size_t kLongestBucketText = 256;
/// kInvalidArgument, naming it as `what`, unless it is a text as weir/model/stored_text.h says, of
/// at most that length and without '#', which ends names in keys and cursors. It may be empty.
[[nodiscard]] Status CheckBucketText(std::string_view what, std::string_view text);

/// The same on every machine and in every run (FNV-1a and a final mix), so that a seed replays.
std::size_t HashOf(const BucketKey& key);

/// For hash tables.
struct BucketKeyHash {
  std::size_t operator()(const BucketKey& key) const { return HashOf(key); }
};

/// Who named the limits of a target.
enum class LimitSource : std::uint8_t {
  kConfigured,  ///< resolution: all configured limits of the bucket, with their parameters
  kOverride,    ///< the request itself: it is judged by them, and configures nothing
};

/// A bucket and the limits that hold for it now. Immutable; resolved once and shared by every
/// request on that bucket, so that a request carries a pointer and numbers only.
struct Target {
  BucketKey key;
  std::vector<Limit> limits;
  std::size_t hash = 0;  ///< HashOf(key)
  LimitSource source = LimitSource::kConfigured;
  /// The key and the names of the limits pass CheckBucketText. (Checked once, by MakeTarget.)
  bool is_storable = true;
};
using TargetPtr = std::shared_ptr<const Target>;

TargetPtr MakeTarget(BucketKey key, std::vector<Limit> limits,
                     LimitSource source = LimitSource::kConfigured);

/// One bucket's part of a request: `amounts[i]` millitokens of `target->limits[i]`. In an acquire
/// amounts are not negative, and 0 leaves that limit out; in an adjust they are signed.
struct Charge {
  TargetPtr target;
  std::vector<std::int64_t> amounts;
  /// In an adjust: which part of the bucket, as Decision::shards told it. An acquire passes over
  /// it, and so does a store that does not divide buckets.
  std::uint32_t shard = 0;
  /// When the reads that named the target's limits began, on the limiter's monotonic clock
  /// (Clock::Now). The default: they are current.
  Instant resolved_at{INT64_MAX};
};

/// More charges in one request are refused.
inline constexpr std::size_t kMaxCharges = 100;

/// kInvalidArgument, naming entity, resource and limit, unless there are 1 to kMaxCharges charges
/// on different storable targets, one amount for each limit, none negative, and none over the
/// capacity (that request could never be admitted).
[[nodiscard]] Status CheckAcquire(std::span<const Charge> charges);

/// As CheckAcquire, but amounts are signed and may be over the capacity; at most kMaxMillitokens.
[[nodiscard]] Status CheckAdjust(std::span<const Charge> charges);

/// How one limit of one charged bucket stood when the decision was taken. Millitokens.
struct LimitStatus {
  std::string entity;
  std::string resource;
  std::string limit;
  std::int64_t capacity = 0;
  /// Before the decision; negative: debt. Of a bucket that a store divides into shards: in those
  /// that the request was tried on; others may hold more.
  std::int64_t available = 0;
  std::int64_t requested = 0;  ///< 0: this limit was not asked
  bool exceeded = false;
  milliseconds retry_after{0};  ///< 0 unless exceeded

  friend bool operator==(const LimitStatus&, const LimitStatus&) = default;
};

/// The answer to a request: all charges were taken, or none.
struct Decision {
  bool admitted = false;
  /// Refused: the smallest wait in whole ms after which this very request is admitted if nothing
  /// else happens. Admitted: 0.
  milliseconds retry_after{0};
  /// An answer of the store was lost and the request was made again: it was charged once, and
  /// perhaps twice.
  bool maybe_charged_twice = false;
  std::vector<LimitStatus> limits;  ///< every limit of every charged bucket, in charge order
  /// Admitted: which part of each charge's bucket was charged, for Charge::shard of what is given
  /// back or corrected. Only the store reads it. Empty: 0 for all of them.
  std::vector<std::uint32_t> shards{};
  /// Refused by no limit: others wrote to the same buckets until the store gave up, or until the
  /// deadline. Nothing is taken; another try after `retry_after` may succeed.
  bool contended = false;
  /// `available` of the limits counts one of so many equal parts of the bucket, because the store
  /// divides it and asked only there.
  std::uint32_t of_shards = 1;
  /// Refused by no limit: a bucket stores other parameters than the target names, and the store saw
  /// them after Charge::resolved_at. Nothing was taken or changed. The limits are to be resolved
  /// again, without a cache, and the request repeated. `retry_after` is 0.
  bool outdated = false;

  friend bool operator==(const Decision&, const Decision&) = default;
};

}  // namespace weir
