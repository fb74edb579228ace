// The text of a YAML file, passed to yaml-cpp piece by piece.
#pragma once

#include <streambuf>
#include <string_view>

#include "weir/base/result.h"

namespace weir {

inline constexpr std::size_t kMaxYamlBytes = std::size_t{16} << 20;

/// yaml-cpp buffers all tokens of a `{...}` or `[...]`, about 250 bytes for one byte of text,
/// before it reports the first event. To bound this memory, the source reports the end of the text
/// to a parser that has read this number of bytes since the last Progress().
inline constexpr std::size_t kMaxBytesWithoutEvent = std::size_t{1} << 20;

class YamlSource final : public std::streambuf {
 public:
  /// `text` must outlive the source.
  explicit YamlSource(std::string_view text) : text_(text) {}

  /// Called when the parser has reported an event: the text read until here is no longer buffered.
  void Progress() { silent_since_ = given_; }

  std::string_view text() const { return text_; }
  /// True if the end of the text was reported early.
  bool ended_early() const { return starved_; }

 protected:
  int_type underflow() override;

 private:
  std::string_view text_;
  std::size_t given_ = 0;
  std::size_t silent_since_ = 0;
  bool starved_ = false;
};

/// Rejects more than kMaxYamlBytes, control characters (yaml-cpp takes the byte 4 for the end of
/// the file) and UTF-16 (yaml-cpp would guess the encoding). Errors have the form of RefuseAt.
[[nodiscard]] Status CheckYamlBytes(std::string_view text, std::string_view file_name);

/// Returns an error at a line of a file, kInvalidArgument: `file_name:line: message`.
tl::unexpected<Error> RefuseAt(std::string_view file_name, int line, std::string_view message);

}  // namespace weir
