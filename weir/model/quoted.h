// Text of unknown origin, made fit for a message of one line.
#pragma once

#include <string>
#include <string_view>

namespace weir {

/// Printable ASCII as it is, every other byte as \xNN: one line, whatever `text` holds.
std::string Printable(std::string_view text);

/// Printable(text) between single quotes; beyond 80 bytes it is cut and ends in "...".
std::string Quoted(std::string_view text);

}  // namespace weir
