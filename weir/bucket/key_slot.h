// A slot of a KeyTable: a key and its word.
#pragma once

#include <cstdint>
#include <type_traits>

#include "weir/bucket/key_hash.h"

namespace weir {

/// For a key that is one machine word: the key itself is compared, and four integers with their
/// words fill a cache line.
template <class Key>
struct PlainSlot {
  Key key{};
  std::uint64_t word = 0;

  bool Holds(Key other, std::uint64_t) const { return key == other; }
  void Hold(Key other, std::uint64_t) { key = other; }
  std::uint64_t Hash(const HashSecret& secret) const { return KeyHash<Key>()(key, secret); }
};

/// For any other key: the key is compared only if its hash is equal.
template <class Key>
struct HashedSlot {
  std::uint64_t word = 0;
  std::uint64_t hash = 0;
  Key key{};

  bool Holds(KeyView<Key> other, std::uint64_t other_hash) const {
    return hash == other_hash && key == other;
  }
  void Hold(KeyView<Key> other, std::uint64_t other_hash) {
    key = Key(other);
    hash = other_hash;
  }
  std::uint64_t Hash(const HashSecret&) const { return hash; }
};

template <class Key>
using KeySlot = std::conditional_t<std::is_scalar_v<Key>, PlainSlot<Key>, HashedSlot<Key>>;

}  // namespace weir
