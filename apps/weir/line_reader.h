// Lines of any length, in bounded memory.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>

namespace weir::app {

/// Reads `in`, which must outlive it, line by line. What follows the last newline is a line if it
/// is not empty.
class LineReader {
 public:
  /// `longest`: bytes of a line, without its newline. So much memory is taken at once.
  LineReader(std::istream& in, std::size_t longest);

  enum class Got {
    kLine,
    kTooLong,  ///< passed over
    kEnd,      ///< or broken()
  };
  Got Next();
  /// The last one, until Next.
  std::string_view line() const { return line_; }
  /// `in` cannot be read.
  bool broken() const;
  /// Of the last line, from 1.
  std::uint64_t number() const { return number_; }

 private:
  std::istream& in_;
  std::string buffer_;
  std::string_view line_;
  std::uint64_t number_ = 0;
};

}  // namespace weir::app
