// What somebody may have meant by an unknown key.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace weir {

/// The known key that is closest to `key` by insertions, deletions and replacements, in quotes; or
/// "one of a, b, c" if none is close. REQUIRES: known is not empty.
std::string NearestKey(std::string_view key, std::span<const std::string_view> known);

}  // namespace weir
