// Base64 (RFC 4648, section 4: the usual alphabet, padded), as JSON bodies carry bytes.
#pragma once

#include <cstddef>
#include <string_view>

namespace weir::kinesis {

constexpr std::size_t Base64Size(std::size_t bytes) { return (bytes + 2) / 3 * 4; }

/// Writes exactly Base64Size(bytes.size()) letters.
void WriteBase64(char* at, std::string_view bytes);

}  // namespace weir::kinesis
