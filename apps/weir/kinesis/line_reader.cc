#include "apps/weir/kinesis/line_reader.h"

#include <istream>
#include <ostream>

namespace weir::app {

// Two more bytes: the terminator that getline writes, and the newline that it reads.
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
    // Without a newline, one byte more than a line may have fits into the buffer.
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

/// Reads the rest of a line in parts of the buffer's size.
void LineReader::PassOver(std::ostream* kept) {
  while (in_.good()) {
    in_.getline(buffer_.data(), static_cast<std::streamsize>(buffer_.size()), '\n');
    complete_ = in_.good();
    const std::streamsize part = in_.gcount() - (complete_ ? 1 : 0);
    if (kept != nullptr) kept->write(buffer_.data(), part);
    if (complete_) break;
    // getline sets failbit if a part fills the buffer: clear it unless the input ended or failed.
    if (!in_.eof() && !in_.bad()) in_.clear();
  }
  if (kept != nullptr) *kept << '\n';
}

}  // namespace weir::app
