// Whether this thread runs callbacks of a producer.
#pragma once

#include <utility>

namespace weir::kinesis {

/// While it lives, this thread runs a callback as a task of `runner`, a Scheduler or an Executor: a
/// call that waits for another task of it may never end. Scopes nest.
class CallbackScope {
 public:
  explicit CallbackScope(const void* runner) : outer_(std::exchange(current, runner)) {}
  ~CallbackScope() { current = outer_; }
  CallbackScope(const CallbackScope&) = delete;
  CallbackScope& operator=(const CallbackScope&) = delete;

  /// Null runs nothing.
  static bool IsIn(const void* runner) { return runner != nullptr && current == runner; }

 private:
  static inline thread_local const void* current = nullptr;
  const void* outer_;
};

}  // namespace weir::kinesis
