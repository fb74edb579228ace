// The terminal that controls this process, if there is one.
#pragma once

#include <sys/types.h>

namespace weir::app {

/// Which process group is in its foreground: the one that may read from it and gets the signals of
/// its keys. Not thread-safe.
class Terminal {
 public:
  Terminal();
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  /// False too if there is no terminal.
  bool IsOf(pid_t group) const;
  /// From the background too. Without effect if there is no terminal or no such group.
  void GiveTo(pid_t group) const;

 private:
  const int fd_;
};

}  // namespace weir::app
