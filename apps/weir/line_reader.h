// Lines of any length, in bounded memory.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <string_view>
#include <utility>

namespace weir::app {

/// Reads `in`, which must outlive it, line by line. What follows the last newline is a line if it
/// is not empty.
class LineReader {
 public:
  /// `longest`: bytes of a line, without its newline. So much memory is taken at once.
  LineReader(std::istream& in, std::size_t longest);

  /// Each line that is longer goes there, with a newline; such lines are lost until this is called.
  /// `stream_of` is asked before the first byte of each.
  void KeepTooLong(std::function<std::ostream&()> stream_of) { too_long_ = std::move(stream_of); }

  enum class Got {
    kLine,
    kTooLong,  ///< passed over, or kept
    kEnd,      ///< or broken()
  };
  Got Next();
  /// The last one, until Next.
  std::string_view line() const { return line_; }
  /// The last one ended with a newline, and not with the input.
  bool complete() const { return complete_; }
  /// Bytes of the longest line that is read.
  std::size_t longest() const { return buffer_.size() - 2; }
  /// `in` cannot be read.
  bool broken() const;
  /// Of the last line, from 1.
  std::uint64_t number() const { return number_; }

 private:
  void PassOver(std::ostream* kept);

  std::istream& in_;
  std::function<std::ostream&()> too_long_;
  std::string buffer_;
  std::string_view line_;
  std::uint64_t number_ = 0;
  bool complete_ = true;
};

}  // namespace weir::app
