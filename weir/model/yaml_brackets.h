// Brackets of YAML's flow style that are not closed. yaml-cpp reports them as another fault, or at
// the end of the text.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace weir {

struct OpenBracket {
  char bracket = '{';  ///< '{' or '['
  std::size_t at = 0;  ///< its index in the text
};

/// Returns the innermost bracket that is open at the end of `text`, or at a closing bracket of the
/// other kind. `text` begins with the bracket of a flow mapping or sequence; the text after its end
/// is not read. Returns nothing if a quote is open, or more than 1,000 brackets.
[[nodiscard]] std::optional<OpenBracket> FindOpenBracket(std::string_view text);

}  // namespace weir
