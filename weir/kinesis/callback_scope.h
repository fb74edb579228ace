// Detects whether this thread runs a callback of a producer.
#pragma once

#include <utility>

namespace weir::kinesis {

/// While a scope lives, this thread runs a callback as a task of `runner`, a Scheduler or an
/// Executor. A call that waits for another task of that runner may never end. Scopes nest, and
/// belong to one thread.
class CallbackScope {
 public:
  explicit CallbackScope(const void* runner) : outer_(std::exchange(current, runner)) {}
  ~CallbackScope() { current = outer_; }
  CallbackScope(const CallbackScope&) = delete;
  CallbackScope& operator=(const CallbackScope&) = delete;

  /// Returns whether the innermost callback that this thread runs is one of `runner`; false if
  /// `runner` is null.
  static bool IsIn(const void* runner) { return runner != nullptr && current == runner; }

 private:
  static inline thread_local const void* current = nullptr;
  const void* outer_;
};

}  // namespace weir::kinesis
