#include "weir/model/nearest_key.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace weir {
namespace {

/// The Levenshtein distance, computed one row at a time.
std::size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (const char c : a) {
    std::size_t diagonal = row[0]++;
    for (std::size_t i = 0; i < b.size(); ++i) {
      const std::size_t replaced = diagonal + (c == b[i] ? 0 : 1);
      diagonal = row[i + 1];
      row[i + 1] = std::min({replaced, diagonal + 1, row[i] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string NearestKey(std::string_view key, std::span<const std::string_view> known) {
  // A longer key is not a misspelling of a known key, and the comparison would be slow.
  constexpr std::size_t kLongest = 64;
  const auto distance = [key](std::string_view other) {
    return key.size() > kLongest ? kLongest : EditDistance(key, other);
  };
  const std::string_view nearest = *std::ranges::min_element(known, {}, distance);
  if (distance(nearest) <= 1 + nearest.size() / 4) return fmt::format("'{}'", nearest);
  return fmt::format("one of {}", fmt::join(known, ", "));
}

}  // namespace weir
