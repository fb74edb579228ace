// How a bucket is divided into shards, and its missing shards are made: one transaction that mints
// nothing. Mechanism and proof: docs/design/acquire.md.
#pragma once

#include <optional>
#include <vector>

#include "weir/dynamo/bucket_plan.h"

namespace weir::dynamo {

/// The least that a shard may hold of a limit, in millitokens.
inline constexpr std::int64_t kLeastShare = 1000;

/// What was read of a bucket: its shards' items, in their order, and its owner.
struct ShardsSeen {
  BucketKey key;  ///< shard 0
  std::vector<std::optional<Item>> items;
  Owner owner;
};

/// Into how many shards one twice as divided would be; nothing where that is too many, or would
/// leave a shard less than kLeastShare of some limit.
std::optional<std::uint32_t> DoubleOf(const BucketImage& image);

/// Brings the bucket to `shards` shards, at least as many as it has: those that are missing get an
/// equal part of what is there in the shard that they split from, and nothing of its debt.
/// Empty: it is so already, or there is no such bucket. kFailedPrecondition where an item is to be
/// left as it is, or there are too many shards for one transaction.
[[nodiscard]] Result<std::vector<Write>> PlanShards(const Keys& keys, const ShardsSeen& seen,
                                                    std::uint32_t shards, UnixMillis now);

}  // namespace weir::dynamo
