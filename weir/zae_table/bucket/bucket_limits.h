// The interface that stores changed limits in existing buckets.
#pragma once

#include "weir/base/done.h"
#include "weir/runtime/deadline.h"
#include "weir/store/bucket/charge.h"

namespace weir::dynamo {

/// Thread-safe. It must outlive its calls. `done`: as in weir/base/done.h.
class BucketLimits {
 public:
  virtual ~BucketLimits() = default;

  /// Stores the limits of `target`, whose source must be kConfigured, in every shard of its bucket
  /// that exists. Used tokens stay used. A bucket that does not exist is not created. Idempotent.
  virtual void Conform(TargetPtr target, Deadline deadline, Done<void> done) = 0;
};

}  // namespace weir::dynamo
