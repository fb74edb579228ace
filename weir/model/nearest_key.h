// Suggestions for an unknown key.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace weir {

/// Returns the known key with the smallest number of insertions, deletions and replacements from
/// `key`, in quotes; or "one of a, b, c" if none is close. REQUIRES: `known` is not empty.
std::string NearestKey(std::string_view key, std::span<const std::string_view> known);

}  // namespace weir
