// A child in a process group of its own, with the part of a shell's job control that it needs.
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <optional>
#include <span>

#include "apps/weir/child_process.h"
#include "apps/weir/signal_pipe.h"
#include "apps/weir/terminal.h"

namespace weir::app {

/// The exit code of a command that a signal ended is this and the signal's number.
inline constexpr int kSignalBase = 128;

/// The signals that CatchSignals must catch before the child is started.
std::span<const int> SupervisedSignals();

/// As child_process.h says. Not thread-safe.
class SupervisedProcess final : public Child {
 public:
  /// `pid`: of the child, which leads the group of the same number.
  explicit SupervisedProcess(pid_t pid) : pid_(pid) {}
  ~SupervisedProcess() override;

  std::optional<int> Wait(nanoseconds most) override;
  void Terminate() override;
  std::function<void()> Waker() override { return WakeAwaitSignal; }

 private:
  void PassOn(const CaughtSignal& caught);
  bool IsRepetition(const CaughtSignal& caught);
  bool HasEnded();
  void Ended(int code);
  void Stopped(int signal);
  void Suspend();
  void Resume();

  const pid_t pid_;
  const Terminal terminal_;
  std::optional<int> code_;
  std::map<int, CaughtSignal> last_;  ///< of each signal that asks for the end
  bool is_stopped_ = false;           ///< the child, from the terminal
  bool waits_for_terminal_ = false;   ///< it reads or writes in the background
  bool had_terminal_ = false;
};

}  // namespace weir::app
