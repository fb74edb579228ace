#include "weir/bucket/key_hash.h"

#include <atomic>
#include <cstring>

#include "weir/base/rng.h"
#include "weir/bucket/known_hash_secret.h"

namespace weir {
namespace {

constinit std::atomic<bool> uses_known_secret = false;

std::uint64_t Load(const char* from, std::size_t size) {
  std::uint64_t word = 0;
  // An empty view may have a null pointer, which memcpy does not accept.
  if (size > 0) std::memcpy(&word, from, size);
  return word;
}

}  // namespace

HashSecret HashSecret::From(std::uint64_t seed) {
  Rng words(seed);
  return {.start = words.Next(),
          .start_times = words.Next() | 1,
          .state = words.Next(),
          .block = words.Next(),
          .last_state = words.Next(),
          .last_block = words.Next()};
}

std::uint64_t HashBytes(std::string_view bytes, const HashSecret& secret) {
  std::uint64_t hash = FoldProduct(secret.start ^ bytes.size(), secret.start_times);
  const char* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left > 8; left -= 8, at += 8) {
    hash = FoldProduct(hash ^ secret.state, Load(at, 8) ^ secret.block);
  }
  return FoldProduct(hash ^ secret.last_state, Load(at, left) ^ secret.last_block);
}

std::uint64_t HashBytes(std::string_view bytes, std::uint64_t seed) {
  return HashBytes(bytes, {.start = seed,
                           .start_times = 0x9e3779b97f4a7c15,
                           .state = 0xa0761d6478bd642f,
                           .block = 0xe7037ed1a0b428db,
                           .last_state = 0x8ebc6af09c88c6e3,
                           .last_block = 0x589965cc75374cc3});
}

const HashSecret& SecretOfProcess() {
  static const HashSecret secret = HashSecret::From(uses_known_secret ? 1 : SystemSeed());
  return secret;
}

void UseKnownHashSecret() { uses_known_secret = true; }

std::uint64_t HashNames(std::string_view first, std::string_view second, std::uint64_t number) {
  const HashSecret& secret = SecretOfProcess();
  // The number is added to a hash that cannot be predicted without the secret words, so it cannot
  // be predicted which sums collide.
  return FoldProduct(HashBytes(first, secret) ^ secret.state,
                     (HashBytes(second, secret) ^ secret.block) + number);
}

}  // namespace weir
