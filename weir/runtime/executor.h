// Runs tasks that may block, on threads of the caller's choice.
#pragma once

#include "weir/base/api.h"
#include "weir/runtime/scheduler.h"

namespace weir {

/// Runs tasks, perhaps several at once and in any order. Tasks must not throw. They may block,
/// which delays the tasks that wait for the same thread. Implementations: ThreadPool
/// (runtime/thread_pool.h), or a small adapter to a thread pool of the program.
class WEIR_API Executor {
 public:
  virtual ~Executor() = default;
  /// Runs `task` once, after Post has returned or on another thread, and then destroys it. Must
  /// neither block nor refuse: the callers bound the number of queued tasks. May be called from any
  /// thread, also from within a task.
  virtual void Post(Task task) = 0;
};

}  // namespace weir
