// A child in a process group of its own, with the part of a shell's job control that it needs.
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <optional>
#include <span>

#include "apps/weir/reserve/child_process.h"
#include "apps/weir/terminal/signal_pipe.h"
#include "apps/weir/terminal/terminal.h"

namespace weir::app {

/// Added to a signal's number, the exit code of a command that the signal ended.
inline constexpr int kSignalBase = 128;

/// Returns the signals that CatchSignals must catch before the child is started.
std::span<const int> SupervisedSignals();

/// See child_process.h. Not thread-safe.
class SupervisedProcess final : public Child {
 public:
  /// `pid` is the child's. It leads the process group of the same number.
  explicit SupervisedProcess(pid_t pid) : pid_(pid) {}
  ~SupervisedProcess() override;

  std::optional<int> Wait(nanoseconds most) override;
  void Terminate() override;
  std::function<void()> Waker() override { return WakeAwaitSignal; }

 private:
  // Sends a caught signal to the child, or to its group.
  void PassOn(const CaughtSignal& caught);
  // Returns whether the same process sent the same signal less than a second ago.
  bool IsRepetition(const CaughtSignal& caught);
  // Collects changes of the child's state without waiting. Returns whether it has ended.
  bool HasEnded();
  // Stores the exit code and takes the terminal back.
  void Ended(int code);
  // Handles a stop of the child.
  void Stopped(int signal);
  // Stops this process until it is continued.
  void Suspend();
  // Continues the child.
  void Resume();

  const pid_t pid_;
  const Terminal terminal_;
  std::optional<int> code_;
  std::map<int, CaughtSignal> last_;  ///< for each signal that requests the end
  bool is_stopped_ = false;           ///< the child is stopped from the terminal
  bool waits_for_terminal_ = false;   ///< the child used the terminal in the background
  bool had_terminal_ = false;
};

}  // namespace weir::app
