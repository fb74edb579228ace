// How far a long verb is, for who sits before it.
#pragma once

#include <string>

#include "apps/weir/command.h"

namespace weir::app {

/// One line on stderr that is written over and over, and gone at the end; nothing of it if stderr
/// is no terminal. `process` must outlive it.
class ProgressLine {
 public:
  explicit ProgressLine(const ProcessContext& process) : process_(process) {}
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void Show(const std::string& text);
  /// A line of its own on stderr, terminal or not: `weir: TEXT`.
  void Note(const std::string& text);

 private:
  const ProcessContext& process_;
  std::size_t width_ = 0;  ///< of the longest text so far
};

}  // namespace weir::app
