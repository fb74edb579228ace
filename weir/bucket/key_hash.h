// Hashes of integers and byte strings. They are keyed by secret words, and are equal in every run
// with the same words.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "weir/base/api.h"

namespace weir {

/// The parameter type for a look-up by key: a look-up with text does not create a std::string.
template <class Key>
using KeyView =
    std::conditional_t<std::is_same_v<Key, std::string>, std::string_view,
                       std::conditional_t<std::is_scalar_v<Key>, const Key, const Key&>>;

__extension__ using WideProduct = unsigned __int128;

/// Multiplies and folds both halves of the product: one step of wyhash (Wang Yi). Every bit of
/// either factor affects the low and the high bits of the result.
inline std::uint64_t FoldProduct(std::uint64_t a, std::uint64_t b) {
  const WideProduct product = WideProduct{a} * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

/// The secret words of a hash. In each step over bytes that an untrusted party may choose, both
/// factors contain one of these words. If a factor contained only a known word, a block equal to
/// that word would make the product 0, whatever the rest of the key is.
struct WEIR_API HashSecret {
  std::uint64_t start;
  std::uint64_t start_times;  ///< odd
  std::uint64_t state;
  std::uint64_t block;
  std::uint64_t last_state;
  std::uint64_t last_block;

  /// Returns words that are drawn from the seed; the same seed gives the same words.
  static HashSecret From(std::uint64_t seed);
};

/// Returns the secret words of this process, which are drawn from the system on the first call.
/// Thread-safe.
WEIR_API const HashSecret& SecretOfProcess();

/// Hashes any bytes, eight at a time, after wyhash.
WEIR_API std::uint64_t HashBytes(std::string_view bytes, const HashSecret& secret);
/// Hashes with public words: a checksum of bytes that no untrusted party chooses. Stored
/// fingerprints depend on this function, so it must not change.
WEIR_API std::uint64_t HashBytes(std::string_view bytes, std::uint64_t seed);

/// Hashes a key that consists of two names and a number, with the secret words of this process, so
/// that a client cannot compute names that collide. Another process returns other hashes, so they
/// must not be stored.
WEIR_API std::uint64_t HashNames(std::string_view first, std::string_view second,
                                 std::uint64_t number = 0);

/// The hash of a key type. Specialise it for your own key types.
template <class Key>
struct KeyHash;

template <std::integral Key>
struct KeyHash<Key> {
  std::uint64_t operator()(Key key, const HashSecret& secret) const {
    // One word needs one step only. The known factor spreads consecutive keys evenly; the secret
    // word in the other factor hides which keys collide. (A product of 0 loses nothing here: an
    // integer key has no earlier blocks.)
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
