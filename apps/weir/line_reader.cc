#include "apps/weir/line_reader.h"

#include <istream>
#include <limits>

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
  if (has_newline || in_.eof()) {
    line_ = std::string_view(buffer_).substr(0, has_newline ? taken - 1 : taken);
    // One byte more than a line may have fits where no newline follows it.
    return line_.size() + 2 > buffer_.size() ? Got::kTooLong : Got::kLine;
  }
  in_.clear();
  in_.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  return Got::kTooLong;
}

}  // namespace weir::app
