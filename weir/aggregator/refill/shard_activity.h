// What a batch shows about each shard of a bucket: the input for its refill and its division.
#pragma once

#include <absl/container/inlined_vector.h>

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "weir/aggregator/usage/bucket_change.h"
#include "weir/dynamodb/value.h"

namespace weir::dynamo {

/// The changes of one shard of a bucket in one batch. Its views and pointers are into the records
/// and changes of the batch.
struct ShardActivity {
  std::string_view namespace_id;
  const BucketKey* bucket = nullptr;
  SequenceNumber latest;        ///< number of the change that `image` is from
  const Item* image = nullptr;  ///< the item after the latest change
  /// Consumption by writes that are not Weir's, by limit, `wcu` included.
  absl::InlinedVector<LimitDelta, 4> consumed;
  bool divided = false;  ///< the number of shards in the item grew
};

/// Returns the shards of the changes, in the order of their first changes.
std::vector<ShardActivity> SumActivity(std::span<const BucketChange> changes,
                                       std::span<const ChangeRecord> records);

}  // namespace weir::dynamo
