// Whether this thread runs callbacks of a scheduler's tasks.
#pragma once

#include <utility>

#include "weir/runtime/scheduler.h"

namespace weir::kinesis {

/// While it lives, a call on this thread that blocks for a task of `scheduler` would never end.
/// Scopes nest.
class CallbackScope {
 public:
  explicit CallbackScope(const Scheduler& scheduler) : outer_(std::exchange(current, &scheduler)) {}
  ~CallbackScope() { current = outer_; }
  CallbackScope(const CallbackScope&) = delete;
  CallbackScope& operator=(const CallbackScope&) = delete;

  static bool IsIn(const Scheduler& scheduler) { return current == &scheduler; }

 private:
  static inline thread_local const Scheduler* current = nullptr;
  const Scheduler* outer_;
};

}  // namespace weir::kinesis
