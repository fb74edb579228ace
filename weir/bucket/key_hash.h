// Hashes of integers and byte strings, keyed by secret words and the same in every run for the same
// words.
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

/// Both factors of every step over chosen bytes carry a word that a stranger who chooses keys does
/// not know: with a known word in a factor, a block equal to that word makes the product 0,
/// whatever else the key has.
struct HashSecret {
  std::uint64_t start;
  std::uint64_t start_times;  ///< odd
  std::uint64_t state;
  std::uint64_t block;
  std::uint64_t last_state;
  std::uint64_t last_block;

  /// Words drawn from the seed: the same for the same seed.
  static HashSecret From(std::uint64_t seed);
};

/// Any bytes, eight at a time, after wyhash.
std::uint64_t HashBytes(std::string_view bytes, const HashSecret& secret);
/// With words that everybody knows: a checksum of bytes that no stranger chooses.
std::uint64_t HashBytes(std::string_view bytes, std::uint64_t seed);

/// Specialise it for a key type of your own.
template <class Key>
struct KeyHash;

template <std::integral Key>
struct KeyHash<Key> {
  std::uint64_t operator()(Key key, const HashSecret& secret) const {
    // One word, and one step: its known factor spreads keys that follow each other evenly, and the
    // secret in the other factor hides which keys meet. (Only text has prefixes that a 0 forgets.)
    return FoldProduct(static_cast<std::uint64_t>(key) ^ secret.start, 0x9e3779b97f4a7c15);
  }
};

template <>
struct KeyHash<std::string> {
  std::uint64_t operator()(std::string_view key, const HashSecret& secret) const {
    return HashBytes(key, secret);
  }
};

}  // namespace weir
