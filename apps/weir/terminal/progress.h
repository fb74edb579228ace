// The progress of a long-running verb, for a user at a terminal.
#pragma once

#include <string>

#include "apps/weir/command.h"

namespace weir::app {

/// One line on stderr that is overwritten, and removed at the end. It is not printed if stderr is
/// not a terminal. `process` must outlive it.
class ProgressLine {
 public:
  explicit ProgressLine(const ProcessContext& process) : process_(process) {}
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void Show(const std::string& text);
  /// Prints a line of its own on stderr, terminal or not: `weir: TEXT`.
  void Note(const std::string& text);

 private:
  const ProcessContext& process_;
  std::size_t width_ = 0;  ///< the width of the longest text shown
};

}  // namespace weir::app
