// The store of usage, counted by hours, days and months.
#pragma once

#include <vector>

#include "weir/base/api.h"
#include "weir/base/done.h"
#include "weir/model/usage.h"
#include "weir/runtime/deadline.h"
#include "weir/store/bucket/bucket_store.h"

namespace weir {

/// Return kInvalidArgument for arguments that UsageStore::List or Add does not accept.
[[nodiscard]] WEIR_API Status Check(const UsageFilter& filter);
[[nodiscard]] WEIR_API Status Check(const UsageSnapshot& added);

/// The usage of one namespace. Threads, lifetimes and errors are as for BucketStore. In a table
/// that is shared with zae-limiter, zae-limiter's aggregator counts windows with the same start
/// (the hour at 00:00 and its day, the first day and its month) in one item. List returns such a
/// snapshot with `mixed` set. Add never creates one.
class WEIR_API UsageStore {
 public:
  virtual ~UsageStore() = default;

  /// Adds usage, overdrafts and events to the snapshot of this entity, resource and window; if
  /// there is none, `added` becomes the snapshot. `added.mixed` is ignored. If the response was
  /// lost, the call may have counted. Fails with kInvalidArgument if a name is invalid, `start` is
  /// not the beginning of such a window, or there are more counters than one call can add (200 in a
  /// table of DynamoDB), and with kOutOfRange, without a change, if a sum does not fit in 64 bits.
  virtual void Add(const UsageSnapshot& added, Deadline deadline, Done<void> done) = 0;

  /// Returns the snapshots that match. With a resource in the filter, with or without an entity,
  /// the newest come first; with an entity alone, they are ordered by resource. Windows with the
  /// same start are in no particular order. No page is empty while another follows. Fails with
  /// kInvalidArgument unless the filter names a valid entity or resource.
  virtual void List(const UsageFilter& filter, const PageRequest& page, Deadline deadline,
                    Done<Page<UsageSnapshot>> done) = 0;

  /// Returns the first 1,000 spans of time that overlap the time from `from` until `until` and
  /// whose usage may be incomplete. A store that counts with each decision has none.
  virtual void ListUncounted(UnixMillis from, UnixMillis until, Deadline deadline,
                             Done<UncountedTimes> done) {
    static_cast<void>(from), static_cast<void>(until), static_cast<void>(deadline);
    done(UncountedTimes{});
  }
};

}  // namespace weir
