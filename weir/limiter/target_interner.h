// One target for an ancestor, however many descendants charge it.
#pragma once

#include <vector>

#include "weir/base/mutex.h"
#include "weir/store/charge.h"

namespace weir {

/// Pairs below one parent are resolved one by one, and each comes with a target of its own for that
/// parent. Made one, they take its room once, and a store that sees the target it saw last has
/// nothing to compare. Keeps at most kSlots targets, the later of two on one slot. Thread-safe.
class TargetInterner {
 public:
  /// The target with this key and these limits that was shared last, or `target` itself.
  TargetPtr Share(TargetPtr target);

 private:
  static constexpr std::size_t kSlots = 8192;

  Mutex mutex_;
  std::vector<TargetPtr> slots_ WEIR_GUARDED_BY(mutex_);  ///< empty until the first
};

}  // namespace weir
