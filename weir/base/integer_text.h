// Numbers in texts that programs write for programs: cursors, keys, items.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace weir {

/// The whole text as a number of that type, in decimal digits, with a minus sign where the type has
/// one; nothing if it is none, or beyond the type.
template <class Int>
std::optional<Int> ReadInteger(std::string_view text) {
  Int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace weir
