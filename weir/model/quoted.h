// Text of unknown origin, made safe for a message of one line.
#pragma once

#include <string>
#include <string_view>

namespace weir {

/// Keeps printable ASCII and replaces every other byte by \xNN.
std::string PrintableAscii(std::string_view text);

/// Keeps visible characters of UTF-8 and the space, and replaces every other byte by \xNN: those of
/// control characters, of formatting such as U+202E, which reverses the text after it, of other
/// spaces, and bytes that are not UTF-8. The result is one line, valid UTF-8.
std::string Printable(std::string_view text);

/// Returns Printable(text) between single quotes. A text of more than 80 bytes is cut, between two
/// characters, and ends in "...".
std::string Quoted(std::string_view text);

}  // namespace weir
