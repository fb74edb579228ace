// Reads numbers in texts that programs write for programs: cursors, keys, items.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace weir {

/// Parses the whole text as a decimal number; a minus sign is allowed if the type is signed.
/// Returns nothing if the text is not such a number, or if the number does not fit the type.
template <class Int>
std::optional<Int> ReadInteger(std::string_view text) {
  Int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace weir
