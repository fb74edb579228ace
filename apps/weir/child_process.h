// A command that runs while something is held.
#pragma once

#include <functional>
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
  /// ended it, as a shell has it. Nothing while it runs; the wait may end too early.
  virtual std::optional<int> Wait(nanoseconds most) = 0;
  /// Asks it to end (SIGTERM).
  virtual void Terminate() = 0;
  /// Ends the Wait in progress, or the next one. Any thread may call it, and it may outlive the
  /// child.
  virtual std::function<void()> Waker() = 0;
};

/// What a child finds in its environment beside this process's own.
using Variables = std::vector<std::pair<std::string, std::string>>;

/// Starts `command` (a name that PATH leads to, or a path, and its arguments) with this process's
/// streams and environment, and `variables`, in a process group of its own. From then on signals no
/// longer act on this process but go on to the child, as its Wait comes to them: INT, TERM, HUP,
/// QUIT and WINCH to its group, USR1 and USR2 to the child alone. The child gets each of them once,
/// whether it was sent to this process or to its group, by a process or by the terminal; of INT,
/// TERM, HUP and QUIT that one process sends again within a second, only the first.
///
/// A child that reads from the terminal gets it if this process is in its foreground. If the child
/// is stopped from the terminal, this process stops too, until it is continued. If this process
/// dies the child gets SIGTERM (Linux). One child at a time; the signal handlers stay set up.
/// Mechanism: docs/design/command-signals.md.
///
/// kNotFound, kPermissionDenied: there is no such program, or it cannot be run; nothing was
/// started.
[[nodiscard]] Result<std::unique_ptr<Child>> StartChild(const std::vector<std::string>& command,
                                                        const Variables& variables);

}  // namespace weir::app
