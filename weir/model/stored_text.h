// What every text must be before a store keeps it, so that the store can always be read again and
// printed.
#pragma once

#include <cstddef>
#include <string_view>

#include "weir/base/result.h"

namespace weir {

/// Well-formed UTF-8 (RFC 3629: no overlong forms, no surrogates, nothing over U+10FFFF).
[[nodiscard]] bool IsUtf8(std::string_view text);
/// Of the first character of a text that is not empty; 0 if it is not UTF-8.
[[nodiscard]] std::size_t BytesOfFirstCharacter(std::string_view text);

/// What a text may be, and how a refusal calls it.
struct TextRule {
  std::string_view what;    ///< "metadata value"
  std::size_t longest = 0;  ///< bytes
  bool may_be_empty = false;
  bool may_have_lines = false;  ///< tab, line feed and carriage return are allowed
};

/// kInvalidArgument, naming the text and the position of the first bad byte, unless it is UTF-8 of
/// at most `longest` bytes without control characters (U+0000 to U+001F, U+007F to U+009F).
[[nodiscard]] Status CheckText(const TextRule& rule, std::string_view text);

}  // namespace weir
