// A bucket's item, parsed.
//
// Format: zae-limiter 0.17.0 (schema.py, repository.py): per limit L the attributes b_L_tk, b_L_cp,
// b_L_ra, b_L_rp, b_L_tc in millitokens and ms, never divided by the number of shards; one `rf` for
// all of them, which is also the optimistic lock of writes that refill. Weir adds the following
// attributes, which other readers ignore:
//
//   w_rem            the remainders of the refill, each less than a millitoken, of one shard at one
//                    `rf`: "1;<shard>;<rf>;<limit>=<remainder>/<period>;...". It is ignored if
//                    shard or rf are not those of the item.
//   w_0 ... w_f      slots of the write fence (fence_slots.h).
//   w_t_<32 hex>     an adjust that an earlier version counted: its id in the name, its time in ms
//                    since 1970 as the value. Later writes remove it.
//   w_extra          the limits of the item that are not configured: "<limit>;<limit>;...". An
//                    override took from them, or they left the configuration and are not full yet.
//   w_gone           "<left>;<full>" in ms since 1970, of limits that were removed before they were
//                    full: when the latest of them was removed, and when the last of them would
//                    have been full.
//   w_joins          the number of limits that have joined. A division fails if a limit has joined
//                    since the division was planned.
//   w_ahead          "<rf>;<seen>" in ms since 1970: an rf that is far ahead of the service's time,
//                    and when it was first seen (time_ahead.h). Ignored if the item's rf differs.
//   w_back           when an rf that was far ahead was set back, in ms since 1970.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weir/base/result.h"
#include "weir/bucket/bucket.h"
#include "weir/dynamodb/value.h"
#include "weir/store/bucket/bucket_store.h"
#include "weir/zae_table/actor/fence_slots.h"
#include "weir/zae_table/actor/write_load.h"

namespace weir::dynamo {

/// Limits that were removed before they were full, because others needed the space.
struct EvictedLimits {
  UnixMillis last_left;  ///< the time at which the latest of these limits was removed
  UnixMillis left_full;  ///< the time at which the last of these limits would have been full

  friend bool operator==(const EvictedLimits&, const EvictedLimits&) = default;
};

/// The mark of an `rf` that is far ahead.
struct AheadMark {
  UnixMillis rf;    ///< the marked `rf`
  UnixMillis seen;  ///< when it was first seen

  friend bool operator==(const AheadMark&, const AheadMark&) = default;
};

/// The content of one item. `names`, `stored` and `bucket.meters` have one entry for each limit, in
/// the same order; the internal limit `wcu` is not among them. A value.
struct BucketImage {
  BucketKey key;
  std::uint32_t shards = 1;  ///< at most kMaxShards
  /// The attribute shard_count. It is over kMaxShards in an item that is damaged, or was written
  /// by a client that is older than that bound: then `shards` is kMaxShards, and writes leave the
  /// attribute as it is.
  std::optional<std::int64_t> stored_shards;
  std::vector<std::string> names;
  std::vector<Quota> stored;  ///< the quotas of the whole bucket
  Bucket bucket;              ///< this shard: `time` is rf, the quotas are the shard's part
  std::optional<Meter> wcu;   ///< writes on this item (write_load.h)
  /// Attribute b_wcu_tc. If the item has `wcu`, each of Weir's writes that changes a balance raises
  /// it, or changes the number of shards.
  std::optional<std::int64_t> written_units;
  std::int64_t write_units = 1;  ///< consumed by one write, because of the item's size
  std::optional<std::int64_t> ttl_seconds;
  std::optional<std::int64_t> valid_until;  ///< attribute vu, ms; 0: the next write must refill
  std::vector<std::pair<std::string, std::int64_t>> adjusts;  ///< attributes w_t_*: name, ms
  FenceSlots slots;                                           ///< attributes w_0 to w_f
  std::optional<std::string> extras;                          ///< attribute w_extra
  std::optional<EvictedLimits> evicted;                       ///< attribute w_gone
  std::optional<std::string> stored_gone;                     ///< its text, for conditions
  std::optional<AheadMark> ahead;           ///< attribute w_ahead; nothing if it is malformed
  std::optional<Value> stored_ahead;        ///< attribute w_ahead as it is stored
  std::optional<UnixMillis> last_set_back;  ///< attribute w_back: when rf was last set back

  /// Returns true if the load of writes on the item at `now` is so high that the bucket should be
  /// divided.
  bool IsHotAt(UnixMillis now) const;
  /// Returns true if the limit is in the item and not configured.
  bool IsExtra(std::string_view limit) const;
};

/// The greatest number of shards that Weir and zae-limiter's clients make.
inline constexpr std::uint32_t kMaxShards = 32;

/// Returns the quota of one of `shards` shards: an equal part of the capacity, at least 1 (the
/// first shards have the odd millitokens), and exactly that part of the rate.
Quota ShareOf(const Quota& quota, std::uint32_t shards, std::uint32_t shard);
/// Returns one part of an amount, split in the same way: if the amount is at most the capacity,
/// each part is at most the capacity of its shard.
std::int64_t PartOf(std::int64_t amount, std::uint32_t shards, std::uint32_t shard);

/// Returns the content of the item. kFailedPrecondition, with the name of the feature, if the item
/// uses a feature that Weir does not implement (schedules, quotas of a calendar or a session, soft
/// limits, bypass) or is disabled. kDataLoss if it is not an item of a bucket, has a quota out of
/// Weir's range, a balance or an rf that no client writes, or an attribute of another type than
/// writes rely on. In both cases the item must be left as it is.
[[nodiscard]] Result<BucketImage> ReadImage(const Item& item);

/// Returns the image in the form of the BucketStore interface.
BucketRecord ToRecord(const BucketImage& image);

/// Returns "b_<limit>_<field>".
std::string LimitAttribute(std::string_view limit, std::string_view field);
/// Returns the text of w_extra; nothing if `names` is empty.
std::optional<std::string> FormatExtras(std::vector<std::string> names);
std::string FormatGone(const EvictedLimits& gone);
std::string FormatAhead(const AheadMark& ahead);
/// Returns the text of w_rem for this shard of a bucket.
std::string FormatRemainders(std::uint32_t shard, const std::vector<std::string>& names,
                             const Bucket& bucket);
/// The write units that one item can consume in a second, in millitokens.
inline constexpr std::int64_t kWriteCapacity = 1'000'000;
/// Returns the quota of the internal limit `wcu`, which counts write units: `capacity` millitokens
/// a second.
Quota WriteQuota(std::int64_t capacity = kWriteCapacity);
inline constexpr std::string_view kWriteLimit = "wcu";
inline constexpr std::string_view kRemainders = "w_rem";
inline constexpr std::string_view kExtras = "w_extra";
inline constexpr std::string_view kGone = "w_gone";
inline constexpr std::string_view kJoins = "w_joins";
inline constexpr std::string_view kAhead = "w_ahead";
inline constexpr std::string_view kLastSetBack = "w_back";

}  // namespace weir::dynamo
