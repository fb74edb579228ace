// Detects whether this thread runs a callback of a producer.
#pragma once

#include <utility>

namespace weir::kinesis {

/// While a scope lives, this thread runs a callback as a task of `runner`, a Scheduler or an
/// Executor. A call that waits for another task of that runner may never end. Scopes nest, and
/// belong to one thread.
class CallbackScope {
 public:
  explicit CallbackScope(const void* runner)
      : runner_(runner), outer_(std::exchange(innermost, this)) {}
  ~CallbackScope() { innermost = outer_; }
  CallbackScope(const CallbackScope&) = delete;
  CallbackScope& operator=(const CallbackScope&) = delete;

  /// Returns whether this thread runs a callback of `runner`; false if `runner` is null.
  static bool IsIn(const void* runner) {
    if (runner == nullptr) return false;
    const CallbackScope* scope = innermost;
    while (scope != nullptr && scope->runner_ != runner) scope = scope->outer_;
    return scope != nullptr;
  }

 private:
  static inline thread_local const CallbackScope* innermost = nullptr;
  const void* runner_;
  const CallbackScope* outer_;
};

}  // namespace weir::kinesis
