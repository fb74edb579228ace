// Hashes for KeyedBucket: integers and byte strings, the same in every run for the same seed.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace weir {

/// How a key is passed for a look-up: no std::string is built to ask for one.
template <class Key>
using KeyView =
    std::conditional_t<std::is_same_v<Key, std::string>, std::string_view,
                       std::conditional_t<std::is_scalar_v<Key>, const Key, const Key&>>;

__extension__ using WideProduct = unsigned __int128;

/// Both halves of the product, folded: one step of wyhash (Wang Yi). Every bit of either factor
/// reaches the low and the high bits of the result.
inline std::uint64_t FoldProduct(std::uint64_t a, std::uint64_t b) {
  const WideProduct product = WideProduct{a} * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

/// Any bytes, eight at a time.
std::uint64_t HashBytes(std::string_view bytes, std::uint64_t seed);

/// Specialise it for a key type of your own.
template <class Key>
struct KeyHash;

template <std::integral Key>
struct KeyHash<Key> {
  std::uint64_t operator()(Key key, std::uint64_t seed) const {
    return FoldProduct(static_cast<std::uint64_t>(key) ^ seed, 0x9e3779b97f4a7c15);
  }
};

template <>
struct KeyHash<std::string> {
  std::uint64_t operator()(std::string_view key, std::uint64_t seed) const {
    return HashBytes(key, seed);
  }
};

}  // namespace weir
