#include "apps/weir/line_reader.h"

#include <istream>
#include <ostream>

namespace weir::app {

// The terminator that getline writes, and the newline that it takes along.
LineReader::LineReader(std::istream& in, std::size_t longest) : in_(in), buffer_(longest + 2, 0) {}

bool LineReader::broken() const { return in_.bad(); }

LineReader::Got LineReader::Next() {
  line_ = {};
  in_.getline(buffer_.data(), static_cast<std::streamsize>(buffer_.size()), '\n');
  const auto taken = static_cast<std::size_t>(in_.gcount());
  if (in_.bad() || (taken == 0 && !in_.good())) return Got::kEnd;
  ++number_;
  const bool has_newline = in_.good();
  complete_ = has_newline;
  if (has_newline || in_.eof()) {
    line_ = std::string_view(buffer_).substr(0, has_newline ? taken - 1 : taken);
    // One byte more than a line may have fits where no newline follows it.
    if (line_.size() <= longest()) return Got::kLine;
    if (too_long_) too_long_() << line_ << '\n';
    return Got::kTooLong;
  }
  std::ostream* const kept = too_long_ ? &too_long_() : nullptr;
  in_.clear();
  if (kept != nullptr) kept->write(buffer_.data(), static_cast<std::streamsize>(taken));
  PassOver(kept);
  return Got::kTooLong;
}

/// The rest of a line, in parts as long as the buffer.
void LineReader::PassOver(std::ostream* kept) {
  while (in_.good()) {
    in_.getline(buffer_.data(), static_cast<std::streamsize>(buffer_.size()), '\n');
    complete_ = in_.good();
    const std::streamsize part = in_.gcount() - (complete_ ? 1 : 0);
    if (kept != nullptr) kept->write(buffer_.data(), part);
    if (complete_) break;
    // A part that fills the buffer, unless the input ended or broke.
    if (!in_.eof() && !in_.bad()) in_.clear();
  }
  if (kept != nullptr) *kept << '\n';
}

}  // namespace weir::app
