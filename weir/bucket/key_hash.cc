#include "weir/bucket/key_hash.h"

#include <cstring>

namespace weir {
namespace {

std::uint64_t Load(const char* from, std::size_t size) {
  std::uint64_t word = 0;
  std::memcpy(&word, from, size);
  return word;
}

}  // namespace

std::uint64_t HashBytes(std::string_view bytes, std::uint64_t seed) {
  std::uint64_t hash = FoldProduct(seed ^ bytes.size(), 0x9e3779b97f4a7c15);
  const char* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left > 8; left -= 8, at += 8) {
    hash = FoldProduct(hash ^ 0xa0761d6478bd642f, Load(at, 8) ^ 0xe7037ed1a0b428db);
  }
  return FoldProduct(hash ^ 0x8ebc6af09c88c6e3, Load(at, left) ^ 0x589965cc75374cc3);
}

}  // namespace weir
