// The controlling terminal of this process, if there is one.
#pragma once

#include <sys/types.h>

namespace weir::app {

/// Reads and sets the foreground process group: the group that may read from the terminal and gets
/// the signals of its keys. Not thread-safe.
class Terminal {
 public:
  Terminal();
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  /// Returns whether `group` is in the foreground; false if there is no terminal.
  bool IsOf(pid_t group) const;
  /// Puts `group` into the foreground, even from a background process. Does nothing if there is no
  /// terminal or no such group.
  void GiveTo(pid_t group) const;

 private:
  const int fd_;
};

}  // namespace weir::app
