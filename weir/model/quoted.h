// Text of unknown origin, made safe for a message of one line.
#pragma once

#include <string>
#include <string_view>

namespace weir {

/// Keeps printable ASCII and replaces every other byte by \xNN. The result is always one line.
std::string Printable(std::string_view text);

/// Returns Printable(text) between single quotes. A text of more than 80 bytes is cut and ends in
/// "...".
std::string Quoted(std::string_view text);

}  // namespace weir
