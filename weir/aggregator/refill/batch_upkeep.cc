#include "weir/aggregator/refill/batch_upkeep.h"

#include <utility>

namespace weir::dynamo {

BatchUpkeep PlanBatchUpkeep(std::span<const BucketChange> changes,
                            std::span<const ChangeRecord> records, UnixMillis now) {
  BatchUpkeep batch;
  for (const ShardActivity& shard : SumActivity(changes, records)) {
    auto upkeep = PlanUpkeep(shard, now);
    if (!upkeep) {
      batch.refused.push_back({shard.bucket, std::move(upkeep.error())});
      continue;
    }
    if (upkeep->refill) batch.refills.push_back(*std::move(upkeep->refill));
    if (!upkeep->image) continue;
    batch.divisions.push_back(
        {std::string(shard.namespace_id), *std::move(upkeep->image), upkeep->complete});
  }
  return batch;
}

}  // namespace weir::dynamo
