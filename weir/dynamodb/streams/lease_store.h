// The storage of the leases of shards.
#pragma once

#include "weir/base/done.h"
#include "weir/dynamodb/streams/shard_lease.h"
#include "weir/runtime/deadline.h"

namespace weir::dynamo {

/// Thread-safe. It must outlive every call.
class LeaseStore {
 public:
  virtual ~LeaseStore() = default;
  /// Returns the leases of one stream, with all writes that were applied before the call.
  virtual void ReadAll(Deadline deadline, Done<StoredLeases> done) = 0;
  /// Applies a write if its condition holds. The write is sent once: after an error it may have
  /// been applied, and it may still be applied later.
  virtual void Write(const LeaseWrite& write, Deadline deadline, Done<LeaseResult> done) = 0;
};

}  // namespace weir::dynamo
