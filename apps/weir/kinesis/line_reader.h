// Reads lines of any length in bounded memory.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <string_view>
#include <utility>

namespace weir::app {

/// Reads `in` line by line; `in` must outlive the reader. Text after the last newline is a line if
/// it is not empty.
class LineReader {
 public:
  /// `longest` is the maximum number of bytes of a line, without its newline. The buffer is
  /// allocated at once.
  LineReader(std::istream& in, std::size_t longest);

  /// Writes each longer line, with a newline, to the stream that `stream_of` returns; without this
  /// call, longer lines are lost. `stream_of` is called before the first byte of each such line.
  void KeepTooLong(std::function<std::ostream&()> stream_of) { too_long_ = std::move(stream_of); }

  enum class Got {
    kLine,
    kTooLong,  ///< skipped, or written to the stream
    kEnd,      ///< end of input, or broken()
  };
  Got Next();
  /// Returns the last line. Valid until Next.
  std::string_view line() const { return line_; }
  /// Returns whether the last line ended with a newline, not with the input.
  bool complete() const { return complete_; }
  /// Returns the maximum number of bytes of a line.
  std::size_t longest() const { return buffer_.size() - 2; }
  /// Returns whether `in` has failed.
  bool broken() const;
  /// Returns the number of the last line, from 1.
  std::uint64_t number() const { return number_; }

 private:
  // Reads the rest of a line that is too long.
  void PassOver(std::ostream* kept);

  std::istream& in_;
  std::function<std::ostream&()> too_long_;
  std::string buffer_;
  std::string_view line_;
  std::uint64_t number_ = 0;
  bool complete_ = true;
};

}  // namespace weir::app
