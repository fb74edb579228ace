// The pending calls of Close of one store.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "weir/base/done.h"
#include "weir/base/owed_result.h"
#include "weir/runtime/scheduler.h"

namespace weir::dynamo {

/// Several calls may be pending at once: all complete when the store has no work left, and each at
/// its own deadline at the latest. The caller sets and cancels the timers. Not thread-safe.
class PendingCloses {
 public:
  using Id = std::uint64_t;
  struct Entry {
    OwedResult<void, "the store was destroyed before it was closed"> done;
    std::optional<TimerId> timer{};  ///< fires at the deadline; nothing: the call has no deadline
  };

  /// Adds a call without a deadline.
  Id Add(Done<void> done);
  /// Stores the timer of a call's deadline. REQUIRES: the call is pending.
  void SetTimer(Id id, TimerId timer);
  /// Removes the call and returns it. Returns nothing if it was removed before.
  std::optional<Entry> Remove(Id id);
  /// Removes all calls and returns them in the order in which they were added.
  std::vector<Entry> RemoveAll();
  bool is_empty() const { return entries_.empty(); }

 private:
  std::map<Id, Entry> entries_;
  Id last_id_ = 0;
};

}  // namespace weir::dynamo
