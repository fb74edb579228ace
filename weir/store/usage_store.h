// What was used in hours, days and months, as it was counted.
#pragma once

#include "weir/base/done.h"
#include "weir/model/usage.h"
#include "weir/runtime/deadline.h"
#include "weir/store/bucket_store.h"

namespace weir {

/// As UsageStore::List and Add hold what they are given.
[[nodiscard]] Status Check(const UsageFilter& filter);
[[nodiscard]] Status Check(const UsageSnapshot& added);

/// As BucketStore in threads, lifetimes and errors. Of one namespace. Where a table is shared with
/// zae-limiter its layout keeps the hour at 00:00 and its day as one snapshot, and whichever day
/// and month begin together; elsewhere they are apart.
class UsageStore {
 public:
  virtual ~UsageStore() = default;

  /// Adds use, overdrafts and events to the snapshot of this entity, resource and window; where
  /// there is none, it becomes that. An answer that is lost may have counted. kInvalidArgument
  /// where a name is none, or `start` is not the first instant of such a window; kOutOfRange, and
  /// nothing is added, where a sum is beyond 64 bits.
  virtual void Add(const UsageSnapshot& added, Deadline deadline, Done<void> done) = 0;

  /// The snapshots that match. Of one entity on one resource, and of one resource, the newest
  /// first; of one entity on all, resource by resource. No page is empty while another follows.
  /// kInvalidArgument unless the filter names a valid entity or resource.
  virtual void List(const UsageFilter& filter, const PageRequest& page, Deadline deadline,
                    Done<Page<UsageSnapshot>> done) = 0;
};

}  // namespace weir
