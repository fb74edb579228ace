// The refill and the division of a bucket's shard that clients of zae-limiter use: their fast
// writes rely on the stored balance, which only other writes refill.
//
// Source: zae-limiter 0.17.0, try_refill_bucket, try_proactive_shard and propagate_shard_count in
// zae_limiter_aggregator/processor.py. Here a refill is the write that Weir's own decisions make
// (bucket_plan.h), and a division is the one transaction of sharding/shard_plan.h.
#pragma once

#include <optional>

#include "weir/aggregator/refill/shard_activity.h"
#include "weir/base/result.h"
#include "weir/dynamodb/table.h"
#include "weir/zae_table/bucket/bucket_image.h"

namespace weir::dynamo {

struct ShardUpkeep {
  std::optional<Write> refill;       ///< conditional; may be repeated
  bool divide = false;               ///< the bucket is to have twice as many shards
  bool complete = false;             ///< another client raised the number: shards may be missing
  std::optional<BucketImage> image;  ///< of the item, if `divide` or `complete` is true
};

/// Returns the upkeep at bucket time `now`.
///
/// * A refill is due if the stored balance of some limit, or of `wcu`, is less than the consumption
///   in the batch, and time gives it tokens. The write refills all limits to `now` and keeps their
///   remainders. It never creates tokens: it requires that the item's `rf`, `vu`, `shard_count` and
///   the parameters of its limits are as they were seen, and that the capacity does not cut off the
///   balance. (zae-limiter's aggregator refills only limits that are short even after the refill,
///   but changes `rf` for all limits.)
/// * A division is due for shard 0 if less than a fifth of `wcu` is left at `now`.
///
/// Returns the error of ReadImage for an item with a feature that Weir does not implement, or that
/// is damaged: such an item is not changed.
[[nodiscard]] Result<ShardUpkeep> PlanUpkeep(const ShardActivity& shard, UnixMillis now);

}  // namespace weir::dynamo
