// The refills and divisions that follow from one batch.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "weir/aggregator/refill/shard_upkeep.h"

namespace weir::dynamo {

/// A bucket that the ShardSplitter of its namespace is to divide. The aggregator needs no result.
struct Division {
  std::string namespace_id;
  BucketImage image;       ///< of shard 0
  bool was_begun = false;  ///< another client has raised the shard count: Complete, not Double
};

/// An item that is left as it is: it has a feature that Weir does not implement, or is damaged.
struct RefusedShard {
  const BucketKey* bucket = nullptr;  ///< in the changes
  Error error;
};

struct BatchUpkeep {
  std::vector<Write> refills;
  std::vector<Division> divisions;
  std::vector<RefusedShard> refused;
};
/// Returns the upkeep of all shards in the changes, at bucket time `now`. See PlanUpkeep.
BatchUpkeep PlanBatchUpkeep(std::span<const BucketChange> changes,
                            std::span<const ChangeRecord> records, UnixMillis now);

}  // namespace weir::dynamo
