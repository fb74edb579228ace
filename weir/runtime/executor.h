// Where code runs that may block: the seam to threads of the caller's choice.
#pragma once

#include "weir/runtime/scheduler.h"

namespace weir {

/// Runs tasks, perhaps several at once and in any order. Tasks must not throw; they may block, and
/// then hold up what waits for their thread. Implementations: ThreadPool (runtime/thread_pool.h),
/// or a few lines before a pool that the program has.
class Executor {
 public:
  virtual ~Executor() = default;
  /// Runs `task` once, after Post returns or on another thread, and destroys it then. Must neither
  /// block nor refuse: who posts bounds how many tasks wait. From any thread, also from within a
  /// task.
  virtual void Post(Task task) = 0;
};

}  // namespace weir
