#include "apps/weir/terminal/progress.h"

#include <algorithm>
#include <ostream>
#include <utility>

namespace weir::app {

ProgressLine::~ProgressLine() {
  if (width_ > 0) process_.err << '\r' << std::string(width_, ' ') << '\r' << std::flush;
}

void ProgressLine::Show(const std::string& text) {
  if (!process_.err_is_terminal) return;
  width_ = std::max(width_, text.size());
  process_.err << '\r' << text << std::string(width_ - text.size(), ' ') << std::flush;
}

void ProgressLine::Note(const std::string& text) {
  if (width_ > 0) process_.err << '\r' << std::string(std::exchange(width_, 0), ' ') << '\r';
  process_.err << "weir: " << text << '\n' << std::flush;
}

}  // namespace weir::app
