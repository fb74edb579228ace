// A command that runs while something is held.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weir/base/result.h"
#include "weir/base/time.h"

namespace weir::app {

/// A command that was started. Not thread-safe.
class Child {
 public:
  virtual ~Child() = default;
  /// Waits, at most so long, for its end: the code that it exits with, or 128 and the signal that
  /// ended it, as a shell has it. Nothing while it runs.
  virtual std::optional<int> Wait(nanoseconds most) = 0;
  /// Asks it to end (SIGTERM).
  virtual void Terminate() = 0;
};

/// What a child finds in its environment beside this process's own.
using Variables = std::vector<std::pair<std::string, std::string>>;

/// Starts `command` (a name that PATH leads to, or a path, and its arguments) with this process's
/// streams and environment, and `variables`. From then on signals that other processes send to this
/// one (INT, TERM, HUP, QUIT, USR1, USR2) no longer end it but go on to the child, as its Wait
/// comes to them; those of the terminal have reached the child already. If this process dies the
/// child gets SIGTERM (Linux). One child at a time; what was set up stays so.
///
/// kNotFound, kPermissionDenied: there is no such program, or it cannot be run; nothing was
/// started.
[[nodiscard]] Result<std::unique_ptr<Child>> StartChild(const std::vector<std::string>& command,
                                                        const Variables& variables);

}  // namespace weir::app
