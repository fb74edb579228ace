// Shares one target of an ancestor among all the descendants that charge it.
#pragma once

#include <vector>

#include "weir/base/mutex.h"
#include "weir/store/bucket/charge.h"

namespace weir {

/// Each pair below a parent is resolved separately, with a target of its own for the parent.
/// Sharing one target saves memory, and a store that gets the same target as last time need not
/// compare its limits. Stores at most kSlots targets: a new target replaces another in its slot.
/// Thread-safe.
class TargetInterner {
 public:
  /// Returns the stored target with the same key and limits. If there is none, stores and returns
  /// `target`.
  TargetPtr Share(TargetPtr target);

 private:
  static constexpr std::size_t kSlots = 8192;

  Mutex mutex_;
  std::vector<TargetPtr> slots_ WEIR_GUARDED_BY(mutex_);  ///< empty until the first call
};

}  // namespace weir
