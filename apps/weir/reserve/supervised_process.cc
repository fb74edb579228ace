#include "apps/weir/reserve/supervised_process.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>

namespace weir::app {
namespace {

constexpr std::array kSignals = {SIGCHLD, SIGINT,  SIGTERM, SIGHUP,  SIGQUIT,
                                 SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT, SIGWINCH};
constexpr std::array kEnds = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
constexpr std::int64_t kRepetition = 1'000'000'000;

bool RequestsEnd(int signal) { return std::ranges::find(kEnds, signal) != kEnds.end(); }

// Stops this process as the terminal would. Has no effect if no shell could continue it (an
// orphaned process group, which the kernel detects).
void StopHere() {
  struct sigaction before = {};
  struct sigaction usual = {};
  usual.sa_handler = SIG_DFL;
  sigaction(SIGTSTP, &usual, &before);
  raise(SIGTSTP);
  sigaction(SIGTSTP, &before, nullptr);
}

}  // namespace

std::span<const int> SupervisedSignals() { return kSignals; }

SupervisedProcess::~SupervisedProcess() {
  if (!code_) Terminate();
}

std::optional<int> SupervisedProcess::Wait(nanoseconds most) {
  if (HasEnded()) return code_;
  AwaitSignal(most);
  while (const auto caught = ReadSignal()) PassOn(*caught);
  HasEnded();
  return code_;
}

void SupervisedProcess::Terminate() {
  kill(-pid_, SIGTERM);
  kill(-pid_, SIGCONT);  // a stopped process ends only after it is continued
}

// Number 0 is a wake-up without a signal.
void SupervisedProcess::PassOn(const CaughtSignal& caught) {
  if (code_) return;
  switch (caught.number) {
    case 0:
    case SIGCHLD:
      return;
    case SIGCONT:
      return Resume();
    case SIGTSTP:
      kill(-pid_, SIGTSTP);
      is_stopped_ = true;
      return Suspend();
    case SIGUSR1:
    case SIGUSR2:
      kill(pid_, caught.number);
      return;
    default:
      if (!IsRepetition(caught)) kill(-pid_, caught.number);
  }
}

// timeout(1) signals its child, and then the group of both.
bool SupervisedProcess::IsRepetition(const CaughtSignal& caught) {
  if (caught.sender == 0 || !RequestsEnd(caught.number)) return false;
  CaughtSignal& last = last_[caught.number];
  const bool is_one = last.sender == caught.sender && caught.at - last.at < kRepetition;
  if (!is_one) last = caught;
  return is_one;
}

bool SupervisedProcess::HasEnded() {
  int status = 0;
  while (!code_ && waitpid(pid_, &status, WNOHANG | WUNTRACED) == pid_) {
    if (WIFSTOPPED(status)) {
      Stopped(WSTOPSIG(status));
    } else {
      Ended(WIFSIGNALED(status) ? kSignalBase + WTERMSIG(status) : WEXITSTATUS(status));
    }
  }
  return code_.has_value();
}

void SupervisedProcess::Ended(int code) {
  code_ = code;
  if (terminal_.IsOf(pid_)) terminal_.GiveTo(getpgrp());
}

// The child was stopped by a signal of the terminal, or by another signal, which counts only if the
// child is in the foreground.
void SupervisedProcess::Stopped(int signal) {
  waits_for_terminal_ = signal == SIGTTIN || signal == SIGTTOU;
  had_terminal_ = terminal_.IsOf(pid_);
  if (!waits_for_terminal_ && !had_terminal_ && signal != SIGTSTP) return;
  is_stopped_ = true;
  if (waits_for_terminal_ && terminal_.IsOf(getpgrp())) return Resume();
  Suspend();
}

// The shell notices that this process has stopped, and takes the terminal.
void SupervisedProcess::Suspend() {
  if (had_terminal_) terminal_.GiveTo(getpgrp());
  StopHere();
  Resume();
}

void SupervisedProcess::Resume() {
  if (!is_stopped_) return;
  const bool is_foreground = terminal_.IsOf(getpgrp());
  // In the background the child would stop again at once.
  if (waits_for_terminal_ && !is_foreground) return;
  if (is_foreground && (waits_for_terminal_ || had_terminal_)) terminal_.GiveTo(pid_);
  is_stopped_ = waits_for_terminal_ = had_terminal_ = false;
  kill(-pid_, SIGCONT);
}

}  // namespace weir::app
