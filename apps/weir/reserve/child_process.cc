#include "apps/weir/reserve/child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "apps/weir/reserve/supervised_process.h"
#include "apps/weir/terminal/signal_pipe.h"
#include "weir/model/quoted.h"

namespace weir::app {
namespace {

// The arguments of the exec, prepared before the fork: the child must not allocate.
struct Image {
  char* const* arguments;
  char* const* environment;
  pid_t parent;
  sigset_t mask;  ///< signals that are blocked at the exec
};

// Runs in the child between fork and exec: async-signal-safe calls only. Reports a failed exec
// through the pipe `failure`.
[[noreturn]] void ExecCommand(const Image& image, int failure) {
  setpgid(0, 0);
  ReleaseCaughtSignals(SupervisedSignals());
  sigprocmask(SIG_SETMASK, &image.mask, nullptr);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != image.parent) _exit(kSignalBase + SIGTERM);
  execvpe(image.arguments[0], image.arguments, image.environment);
  const int reason = errno;
  [[maybe_unused]] const ssize_t written = write(failure, &reason, sizeof reason);
  _exit(127);
}

// Forks like fork(2). No signal of this process reaches the child before its exec.
pid_t ForkChild(Image image, int failure) {
  sigset_t all{};
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &image.mask);
  const pid_t child = fork();
  if (child == 0) ExecCommand(image, failure);
  const int error = errno;
  pthread_sigmask(SIG_SETMASK, &image.mask, nullptr);
  errno = error;
  return child;
}

// Returns 0, or the errno of a failed exec. A successful exec closes the pipe.
int ReadReason(int fd) {
  int reason = 0;
  ssize_t got = -1;
  do {
    got = read(fd, &reason, sizeof reason);
  } while (got < 0 && errno == EINTR);
  return got == sizeof reason ? reason : 0;
}

tl::unexpected<Error> CannotRun(const std::string& command, int reason) {
  const Code code = reason == ENOENT ? Code::kNotFound : Code::kPermissionDenied;
  return Fail(code, fmt::format("cannot run {}: {}", Quoted(command), std::strerror(reason)));
}

// Returns pointers in the form that exec takes. The texts must outlive them.
std::vector<char*> PointersTo(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> EnvironmentWith(const Variables& variables) {
  std::vector<std::string> environment;
  for (char** at = environ; *at != nullptr; ++at) {
    const std::string_view entry = *at;
    const bool is_replaced = std::ranges::any_of(variables, [&](const auto& variable) {
      return entry.substr(0, entry.find('=')) == variable.first;
    });
    if (!is_replaced) environment.emplace_back(entry);
  }
  for (const auto& [name, value] : variables) {
    environment.push_back(fmt::format("{}={}", name, value));
  }
  return environment;
}

}  // namespace

Result<std::unique_ptr<Child>> StartChild(const std::vector<std::string>& command,
                                          const Variables& variables) {
  std::signal(SIGCHLD, SIG_DFL);  // if it were ignored, the end of a child would not be reported
  WEIR_RETURN_IF_ERROR(CatchSignals(SupervisedSignals()));
  const std::vector<char*> arguments = PointersTo(command);
  const std::vector<std::string> texts = EnvironmentWith(variables);
  const std::vector<char*> environment = PointersTo(texts);
  std::array<int, 2> failure{};
  if (pipe2(failure.data(), O_CLOEXEC) != 0) return CannotRun(command[0], errno);
  const pid_t child = ForkChild({arguments.data(), environment.data(), getpid(), {}}, failure[1]);
  const int fork_error = errno;
  close(failure[1]);
  const int reason = child < 0 ? fork_error : ReadReason(failure[0]);
  close(failure[0]);
  if (reason == 0) return std::make_unique<SupervisedProcess>(child);
  if (child > 0) waitpid(child, nullptr, 0);
  return CannotRun(command[0], reason);
}

}  // namespace weir::app
