// A command that runs as a child of this process.
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

/// A started command. Not thread-safe.
class Child {
 public:
  virtual ~Child() = default;
  /// Waits up to `most` for the command's end. Returns its exit code, or 128 plus the number of the
  /// signal that ended it, as a shell does; nothing while it runs. The wait may return early.
  virtual std::optional<int> Wait(nanoseconds most) = 0;
  /// Sends SIGTERM.
  virtual void Terminate() = 0;
  /// Returns a function that ends the Wait in progress, or the next one. Any thread may call it,
  /// even after the child has been destroyed.
  virtual std::function<void()> Waker() = 0;
};

/// Variables that a child gets in addition to the environment of this process.
using Variables = std::vector<std::pair<std::string, std::string>>;

/// Starts `command` (a path, or a name that is searched in PATH, and its arguments) in a process
/// group of its own, with this process's streams and environment and `variables`. From then on
/// these signals no longer act on this process but are passed on to the child by its Wait: INT,
/// TERM, HUP, QUIT and WINCH to its group, USR1 and USR2 to the child only. The child gets each of
/// them once, whether it was sent to this process or to its group, by a process or by the terminal.
/// If one process sends INT, TERM, HUP or QUIT again within a second, only the first is passed on.
///
/// A child that reads from the terminal gets the terminal if this process is in its foreground. If
/// the child is stopped from the terminal, this process stops too, until it is continued. If this
/// process dies, the child gets SIGTERM (Linux). One child at a time; the signal handlers remain
/// installed. Mechanism: docs/design/command-signals.md.
///
/// Returns kNotFound if there is no such program and kPermissionDenied if it cannot be run; then no
/// process was started.
[[nodiscard]] Result<std::unique_ptr<Child>> StartChild(const std::vector<std::string>& command,
                                                        const Variables& variables);

}  // namespace weir::app
