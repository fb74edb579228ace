// The rules for every stored text, so that a store can always be read again and printed.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "weir/base/result.h"

namespace weir {

/// Returns whether `text` is well-formed UTF-8 (RFC 3629: no overlong forms, no surrogates, nothing
/// over U+10FFFF).
[[nodiscard]] bool IsUtf8(std::string_view text);

/// A character of UTF-8.
struct Character {
  char32_t value = 0;
  std::size_t bytes = 1;
};
/// Returns the first character; nothing if it is not UTF-8. REQUIRES: `text` is not empty.
[[nodiscard]] std::optional<Character> FirstCharacter(std::string_view text);

/// The rule for one kind of text, and its name in error messages.
struct TextRule {
  std::string_view what;    ///< "metadata value"
  std::size_t longest = 0;  ///< bytes
  bool may_be_empty = false;
  bool may_have_lines = false;  ///< tab, line feed and carriage return are allowed
};

/// Returns kInvalidArgument, with the text and the position of the first bad byte, unless `text` is
/// UTF-8 of 1 to `longest` bytes without control characters (U+0000 to U+001F, U+007F to U+009F).
/// The fields of `rule` may allow an empty text and some control characters.
[[nodiscard]] Status CheckText(const TextRule& rule, std::string_view text);

}  // namespace weir
