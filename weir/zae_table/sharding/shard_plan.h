// How a bucket is divided into shards, and how missing shards are created: by one transaction that
// creates no tokens. Mechanism and proof: docs/design/acquire.md.
#pragma once

#include <optional>
#include <vector>

#include "weir/zae_table/bucket/bucket_plan.h"

namespace weir::dynamo {

/// The least capacity that a shard may have of a limit, in millitokens.
inline constexpr std::int64_t kLeastShare = 1000;

/// The items of a bucket's shards, in their order, and the bucket's owner, as they were read.
struct ShardsSeen {
  BucketKey key;  ///< shard 0
  std::vector<std::optional<Item>> items;
  Owner owner;
  /// The number of shards of the bucket. Later items are no shards of it: they are left over from
  /// an earlier division, if the bucket was deleted before them and created again.
  std::uint32_t count = UINT32_MAX;
};

/// Returns the number of shards after doubling; nothing if that is too many, or would leave a shard
/// less than kLeastShare of some limit.
std::optional<std::uint32_t> DoubleOf(const BucketImage& image);

/// Returns the writes that bring the bucket to `shards` shards, at least as many as it has. Each
/// missing shard gets an equal part of the tokens in the shard that it splits from, and none of
/// that shard's debt. An item that is left over is replaced; its tokens do not count. (An item that
/// is a bucket of its own is not: the writes then fail.) Returns no writes if the bucket has these
/// shards already, or does not exist. Returns the error of ReadImage if an item cannot be used, and
/// kFailedPrecondition if there are too many shards for one transaction.
[[nodiscard]] Result<std::vector<Write>> PlanShards(const Keys& keys, const ShardsSeen& seen,
                                                    std::uint32_t shards, UnixMillis now);

}  // namespace weir::dynamo
