// The work of one batch, before any request.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "weir/aggregator/usage/usage_group.h"

namespace weir::dynamo {

/// The greatest number of records in a batch: that of a Lambda function.
inline constexpr std::size_t kMaxRecords = 10'000;

/// Has pointers into the records, which must outlive the plan, and into itself: a plan may be
/// moved, not copied.
struct BatchPlan {
  BatchPlan() = default;
  BatchPlan(BatchPlan&&) = default;
  BatchPlan& operator=(BatchPlan&&) = default;

  std::size_t records = 0;   ///< the number of records before the first that is bad
  std::optional<Error> bad;  ///< why the first bad record is bad; nothing: there is none
  std::vector<BucketChange> changes;
  std::vector<UsageGroup> groups;
  std::vector<std::size_t> expired;  ///< indexes of the records of expired audit events
};

/// Plans the records before the first that cannot be counted, at most kMaxRecords of them.
BatchPlan PlanBatch(std::span<const ChangeRecord> records, std::span<const UsageWindow> windows);

}  // namespace weir::dynamo
