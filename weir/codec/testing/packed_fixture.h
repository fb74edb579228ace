// Packs texts with gzip, for tests.
#pragma once

#include <string>
#include <string_view>

namespace weir {

/// Returns gzip of the text.
std::string Packed(std::string_view text);

}  // namespace weir
