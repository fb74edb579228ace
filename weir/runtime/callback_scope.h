// Marks the threads that run callbacks, so that a blocking call there fails instead of never
// returning.
#pragma once

#include "weir/base/api.h"

namespace weir {

/// While a scope lives, its thread runs callbacks one after the other: those of a scheduler, of the
/// network, or of another call whose work this thread does. Blocking calls of a Limiter fail on
/// such a thread. Scopes nest. A Scheduler that the program implements should have a scope around
/// each task.
class WEIR_API CallbackScope {
 public:
  CallbackScope();
  ~CallbackScope();
  CallbackScope(const CallbackScope&) = delete;
  CallbackScope& operator=(const CallbackScope&) = delete;

  /// Returns true if a scope lives on the calling thread.
  static bool IsActive();
};

}  // namespace weir
