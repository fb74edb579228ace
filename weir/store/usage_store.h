// What was used in hours, days and months, as it was counted.
#pragma once

#include "weir/base/done.h"
#include "weir/model/usage.h"
#include "weir/runtime/deadline.h"
#include "weir/store/bucket_store.h"

namespace weir {

/// As BucketStore in threads, lifetimes and errors. Of one namespace; to be read only: whoever
/// counts writes by a way of its own.
class UsageStore {
 public:
  virtual ~UsageStore() = default;

  /// The snapshots that match. Of one entity on one resource, and of one resource, the newest
  /// first; of one entity on all, resource by resource. No page is empty while another follows.
  /// kInvalidArgument unless the filter names a valid entity or resource.
  virtual void List(const UsageFilter& filter, const PageRequest& page, Deadline deadline,
                    Done<Page<UsageSnapshot>> done) = 0;
};

}  // namespace weir
