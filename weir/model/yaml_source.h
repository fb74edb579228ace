// The text of a YAML file, handed to yaml-cpp piece by piece.
#pragma once

#include <streambuf>
#include <string_view>

#include "weir/base/result.h"

namespace weir {

inline constexpr std::size_t kMaxYamlBytes = std::size_t{16} << 20;

/// yaml-cpp keeps all tokens of a `{...}` or `[...]` in memory, some 250 bytes for one byte of
/// text, before it tells of the first. So the text ends early when this much of it was read since
/// the last Progress().
inline constexpr std::size_t kMaxYamlSilence = std::size_t{1} << 20;

class YamlSource final : public std::streambuf {
 public:
  /// `text` must outlive the source.
  explicit YamlSource(std::string_view text) : text_(text) {}

  /// The parser told of something: what it read until here is dealt with.
  void Progress() { silent_since_ = given_; }

  std::string_view text() const { return text_; }
  /// True if the text was ended early.
  bool starved() const { return starved_; }

 protected:
  int_type underflow() override;

 private:
  std::string_view text_;
  std::size_t given_ = 0;
  std::size_t silent_since_ = 0;
  bool starved_ = false;
};

/// Refuses, as `line: what; what would be right`, more than kMaxYamlBytes, control characters
/// (yaml-cpp takes the byte 4 for the end of the file) and UTF-16 (at which it guesses).
[[nodiscard]] Status CheckYamlBytes(std::string_view text, std::string_view file_name);

/// An error at a line of a file: `file_name:line: message`, kInvalidArgument.
tl::unexpected<Error> RefuseAt(std::string_view file_name, int line, std::string_view message);

}  // namespace weir
