// The changes of a batch by the usage items that count them.
#pragma once

#include <absl/container/inlined_vector.h>

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "weir/aggregator/usage/bucket_change.h"
#include "weir/zae_table/records/usage_item.h"

namespace weir::dynamo {

/// The changes of one shard of a bucket, in the order of their sequence numbers, each once.
struct UsageSource {
  std::uint32_t shard = 0;
  absl::InlinedVector<const BucketChange*, 2> changes;
};

/// The changes that one usage item counts.
struct UsageGroup {
  std::string_view namespace_id;
  UsageKey usage;
  absl::InlinedVector<UsageSource, 1> sources;  ///< one for each shard
  std::size_t first_record = 0;                 ///< the first one counted: an index in the batch
};

/// Returns one group for each namespace, entity, resource and window, in the order of their first
/// changes. For each kind of window, a change is in the group whose window contains its time. A
/// change without deltas is in no group. The changes must outlive the groups.
std::vector<UsageGroup> GroupUsage(std::span<const BucketChange> changes,
                                   std::span<const UsageWindow> windows);

}  // namespace weir::dynamo
