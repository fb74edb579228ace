// The parameters that buckets store, brought to those that are configured.
#pragma once

#include "weir/base/done.h"
#include "weir/runtime/deadline.h"
#include "weir/store/charge.h"

namespace weir::dynamo {

/// Thread-safe. Must outlive its calls. `done` as weir/base/done.h says.
class BucketLimits {
 public:
  virtual ~BucketLimits() = default;

  /// Stores the limits of the configured target in every shard of its bucket that exists, keeping
  /// what is used; a bucket that does not exist stays absent. Idempotent.
  virtual void Conform(TargetPtr target, Deadline deadline, Done<void> done) = 0;
};

}  // namespace weir::dynamo
