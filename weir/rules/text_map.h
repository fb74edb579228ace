// A hash map with texts as keys.
#pragma once

#include <absl/container/flat_hash_map.h>
#include <absl/hash/hash.h>

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace weir::rules {

/// Lets a map find a std::string_view without a copy of it.
struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const {
    return absl::Hash<std::string_view>()(text);
  }
};

template <class T>
using TextMap = absl::flat_hash_map<std::string, T, TextHash, std::equal_to<>>;

}  // namespace weir::rules
