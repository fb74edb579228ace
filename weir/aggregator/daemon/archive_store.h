// Where the objects of expired audit events are stored.
#pragma once

#include "weir/aggregator/archive/audit_archive.h"
#include "weir/base/done.h"
#include "weir/runtime/deadline.h"

namespace weir::dynamo {

/// Thread-safe. It must outlive every call.
class ArchiveStore {
 public:
  virtual ~ArchiveStore() = default;
  /// Stores an object; replaces an object with the same key. After an error the object
  /// may have been stored nevertheless.
  virtual void Put(ArchiveObject object, Deadline deadline, Done<void> done) = 0;
};

}  // namespace weir::dynamo
