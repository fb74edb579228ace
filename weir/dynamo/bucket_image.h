// A bucket's item as it was last seen.
//
// Format: zae-limiter 0.17.0 (data model 1.3 b and 2.1): per limit L the attributes b_L_tk, b_L_cp,
// b_L_ra, b_L_rp, b_L_tc in millitokens and ms, never divided by the number of shards; one `rf` for
// all of them, which is also the lock of writes that refill. Ours beside these, which other readers
// pass over:
//
//   w_rem            what was earned and is less than a millitoken, of one shard at one `rf`:
//                    "1;<shard>;<rf>;<limit>=<remainder>/<period>;...". Elsewhere it means nothing.
//   w_0 ... w_f      slots of the write fence (fence_slots.h).
//   w_t_<32 hex>     an adjust that an earlier version counted: its token, and when, in ms since
//                    1970. Later writes remove it.
//   w_extra          the limits of the item that are not configured: "<limit>;<limit>;...". An
//                    override took from them, or they left the configuration and are not full yet.
//   w_gone           "<left>;<full>" in ms since 1970: when the latest limit was removed before it
//                    was full, and when the last of them would have been full.
//   w_ahead          "<rf>;<seen>" in ms since 1970: an rf that is far ahead of the service's time,
//                    and since when it has been so (time_ahead.h). No meaning if rf is another one.
//   w_back           when an rf that was far ahead was set back, in ms since 1970.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weir/base/result.h"
#include "weir/bucket/bucket.h"
#include "weir/dynamo/fence_slots.h"
#include "weir/dynamo/value.h"
#include "weir/dynamo/write_load.h"
#include "weir/store/bucket_store.h"

namespace weir::dynamo {

/// Limits that were removed before they were full, to make room.
struct EarlyLeavers {
  UnixMillis last_left;
  UnixMillis left_full;

  friend bool operator==(const EarlyLeavers&, const EarlyLeavers&) = default;
};

/// Since when an `rf` that is far ahead has been seen.
struct AheadMark {
  UnixMillis rf;
  UnixMillis seen;

  friend bool operator==(const AheadMark&, const AheadMark&) = default;
};

/// A value. `names`, `stored` and `bucket.meters` belong together; the internal limit `wcu` is not
/// among them.
struct BucketImage {
  BucketKey key;
  std::uint32_t shards = 1;  ///< at most kMostShards
  /// The attribute shard_count. Over kMostShards in an item that is damaged, or of a client that is
  /// older than that bound: `shards` of them are used, and the attribute stays.
  std::optional<std::int64_t> stored_shards;
  std::vector<std::string> names;
  std::vector<Quota> stored;     ///< of the whole bucket
  Bucket bucket;                 ///< of this shard: `time` is rf, quotas are the shard's part
  std::optional<Meter> wcu;      ///< writes on this item (write_load.h)
  std::int64_t write_units = 1;  ///< consumed by one write, because of the item's size
  std::optional<std::int64_t> ttl_seconds;
  std::optional<std::int64_t> valid_until;  ///< attribute vu, ms; 0 asks for one write that refills
  std::vector<std::pair<std::string, std::int64_t>> adjusts;  ///< attribute names, ms
  FenceSlots slots;                                           ///< attributes w_0 to w_f
  std::optional<std::string> extras;                          ///< attribute w_extra
  std::optional<EarlyLeavers> gone;                           ///< attribute w_gone
  std::optional<AheadMark> ahead;                             ///< attribute w_ahead, if it is sound
  std::optional<Value> stored_ahead;        ///< w_ahead as it is stored, sound or not
  std::optional<UnixMillis> last_set_back;  ///< attribute w_back: when rf was last set back

  /// At `now` the load of writes on the item is so high that the bucket is to be divided.
  bool IsHotAt(UnixMillis now) const;
  /// The limit is in the item and not configured.
  bool IsExtra(std::string_view limit) const;
};

/// No client makes more.
inline constexpr std::uint32_t kMostShards = 32;

/// What one of `shards` parts has of a quota: an equal part of the capacity, of which the first
/// ones have the odd millitokens, and never less than one; the rate exactly.
Quota ShareOf(const Quota& quota, std::uint32_t shards, std::uint32_t shard);
/// One part of an amount, split the same way; whoever has the whole capacity can pay each part.
std::int64_t PartOf(std::int64_t amount, std::uint32_t shards, std::uint32_t shard);

/// kFailedPrecondition, by name, where the item uses what is not implemented here (schedules,
/// quotas of a calendar or a session, soft limits, bypass) or is disabled. kDataLoss where it is no
/// bucket's item, or has a quota or a balance that no client writes. Either way it is to be left as
/// it is.
[[nodiscard]] Result<BucketImage> ReadImage(const Item& item);

/// As the store tells it.
BucketRecord ToRecord(const BucketImage& image);

std::string LimitAttribute(std::string_view limit, std::string_view field);
/// The text of w_extra; nothing if there are none.
std::optional<std::string> FormatExtras(std::vector<std::string> names);
std::string FormatGone(const EarlyLeavers& gone);
std::string FormatAhead(const AheadMark& ahead);
/// The text of w_rem for a bucket of this shard.
std::string FormatRemainders(std::uint32_t shard, const std::vector<std::string>& names,
                             const Bucket& bucket);
/// The limit that counts writes, 1 for each: what one item bears in a second, in millitokens.
inline constexpr std::int64_t kWriteCapacity = 1'000'000;
Quota WriteQuota(std::int64_t capacity = kWriteCapacity);
inline constexpr std::string_view kWriteLimit = "wcu";
inline constexpr std::string_view kRemainders = "w_rem";
inline constexpr std::string_view kExtras = "w_extra";
inline constexpr std::string_view kGone = "w_gone";
inline constexpr std::string_view kAhead = "w_ahead";
inline constexpr std::string_view kLastSetBack = "w_back";

}  // namespace weir::dynamo
