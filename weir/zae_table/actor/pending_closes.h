// The calls of Close that wait for the end of a store's work.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "weir/base/done.h"
#include "weir/base/owed_result.h"
#include "weir/runtime/scheduler.h"

namespace weir::dynamo {

/// Each call has its own deadline, and so its own timer. Not thread-safe.
class PendingCloses {
 public:
  using Id = std::uint64_t;
  struct Entry {
    OwedResult<void, "the store was destroyed before it was closed"> done;
    std::optional<TimerId> timer{};  ///< the timer of the deadline; nothing: there is none
  };

  Id Add(Done<void> done);
  /// REQUIRES: the call is pending.
  void SetTimer(Id id, TimerId timer);
  /// Removes the call; nothing if it has ended.
  std::optional<Entry> Remove(Id id);
  /// Removes all calls, in the order in which they were added.
  std::vector<Entry> RemoveAll();
  bool is_empty() const { return entries_.empty(); }

 private:
  std::map<Id, Entry> entries_;
  Id last_id_ = 0;
};

}  // namespace weir::dynamo
