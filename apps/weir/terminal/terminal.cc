#include "apps/weir/terminal/terminal.h"

#include <fcntl.h>
#include <unistd.h>

#include <csignal>

namespace weir::app {

Terminal::Terminal() : fd_(open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)) {}

Terminal::~Terminal() {
  if (fd_ >= 0) close(fd_);
}

bool Terminal::IsOf(pid_t group) const { return fd_ >= 0 && tcgetpgrp(fd_) == group; }

void Terminal::GiveTo(pid_t group) const {
  if (fd_ < 0) return;
  sigset_t output{};
  sigset_t before{};
  sigemptyset(&output);
  sigaddset(&output, SIGTTOU);  // if it is blocked, it does not stop a background process
  pthread_sigmask(SIG_BLOCK, &output, &before);
  tcsetpgrp(fd_, group);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace weir::app
