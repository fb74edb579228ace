// For LD_PRELOAD: the first fork of the process prints a message and takes a second.
#include <dlfcn.h>
#include <sys/types.h>
#include <unistd.h>

#include <ctime>

extern "C" pid_t fork() noexcept {
  static bool is_first = true;
  if (is_first) {
    is_first = false;
    constexpr char kText[] = "forks soon\n";
    [[maybe_unused]] const ssize_t written = write(STDOUT_FILENO, kText, sizeof kText - 1);
    timespec left{.tv_sec = 1, .tv_nsec = 0};
    while (nanosleep(&left, &left) != 0) {  // interrupted by a signal
    }
  }
  return reinterpret_cast<pid_t (*)()>(dlsym(RTLD_NEXT, "fork"))();
}
