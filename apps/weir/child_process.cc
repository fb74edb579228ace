#include "apps/weir/child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "weir/model/quoted.h"

namespace weir::app {
namespace {

constexpr std::array kPassedOn = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
constexpr int kSignalBase = 128;

// A signal reaches a handler, whatever thread it meets, and the handler writes it here. Never
// closed: a signal may come at any time.
std::array<int, 2> signal_pipe = {-1, -1};

void Note(int signal, siginfo_t* info, void*) {
  const int saved = errno;
  // What the terminal sends goes to the whole group.
  const bool from_terminal = signal != SIGCHLD && info->si_code == SI_KERNEL;
  const auto byte = static_cast<unsigned char>(from_terminal ? SIGCHLD : signal);
  // A full pipe holds what is enough to wake up.
  [[maybe_unused]] const ssize_t written = write(signal_pipe[1], &byte, 1);
  errno = saved;
}

Status CatchSignals() {
  if (signal_pipe[0] >= 0) return {};
  if (pipe2(signal_pipe.data(), O_CLOEXEC | O_NONBLOCK) != 0) {
    return Fail(Code::kResourceExhausted,
                fmt::format("no pipe for signals: {}", std::strerror(errno)));
  }
  struct sigaction action = {};
  action.sa_sigaction = Note;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigaction(SIGCHLD, &action, nullptr);
  for (const int signal : kPassedOn) {
    struct sigaction before = {};
    sigaction(signal, nullptr, &before);
    // What nohup(1) and the like ignore stays so, for the child too.
    if (before.sa_handler != SIG_IGN) sigaction(signal, &action, nullptr);
  }
  return {};
}

class Process final : public Child {
 public:
  explicit Process(pid_t pid) : pid_(pid) {}
  ~Process() override {
    if (!code_) Terminate();
  }

  std::optional<int> Wait(nanoseconds most) override {
    if (Ended()) return code_;
    constexpr std::int64_t kLongest = 1'000'000'000;
    pollfd events{.fd = signal_pipe[0], .events = POLLIN, .revents = 0};
    const auto wait = std::chrono::ceil<milliseconds>(std::max(most, nanoseconds(0))).count();
    poll(&events, 1, static_cast<int>(std::min(wait, kLongest)));
    PassOn();
    Ended();
    return code_;
  }

  void Terminate() override { kill(pid_, SIGTERM); }

 private:
  void PassOn() {
    unsigned char signal = 0;
    while (read(signal_pipe[0], &signal, 1) == 1) {
      if (signal != SIGCHLD && !code_) kill(pid_, signal);
    }
  }

  bool Ended() {
    int status = 0;
    if (code_) return true;
    if (waitpid(pid_, &status, WNOHANG) != pid_) return false;
    code_ = WIFSIGNALED(status) ? kSignalBase + WTERMSIG(status) : WEXITSTATUS(status);
    return true;
  }

  const pid_t pid_;
  std::optional<int> code_;
};

// In the child, between fork and exec, which takes the handlers away: only what is safe there.
[[noreturn]] void Become(char* const* arguments, char* const* environment, pid_t parent,
                         int failure) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(kSignalBase + SIGTERM);
  execvpe(arguments[0], arguments, environment);
  const int reason = errno;
  [[maybe_unused]] const ssize_t written = write(failure, &reason, sizeof reason);
  _exit(127);
}

// 0, or why the command could not be run: the pipe closes when it does.
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

// As exec takes them; the texts must outlive it.
std::vector<char*> Pointers(const std::vector<std::string>& texts) {
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
  WEIR_RETURN_IF_ERROR(CatchSignals());
  const std::vector<char*> arguments = Pointers(command);
  const std::vector<std::string> texts = EnvironmentWith(variables);
  const std::vector<char*> environment = Pointers(texts);
  std::array<int, 2> failure{};
  if (pipe2(failure.data(), O_CLOEXEC) != 0) return CannotRun(command[0], errno);
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0) Become(arguments.data(), environment.data(), parent, failure[1]);
  const int fork_error = errno;
  close(failure[1]);
  const int reason = child < 0 ? fork_error : ReadReason(failure[0]);
  close(failure[0]);
  if (reason == 0) return std::make_unique<Process>(child);
  if (child > 0) waitpid(child, nullptr, 0);
  return CannotRun(command[0], reason);
}

}  // namespace weir::app
