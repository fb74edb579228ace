#include "weir/codec/sha256.h"

#include <openssl/crypto.h>

#include <cstddef>

#include "weir/codec/hash_function.h"

namespace weir::internal {
namespace {

/// A key, padded to the length of SHA-256's block, and masked.
class KeyBlock {
 public:
  KeyBlock(std::string_view key, char mask) {
    bytes_.fill(mask);
    for (std::size_t i = 0; i < key.size(); ++i) bytes_[i] = static_cast<char>(key[i] ^ mask);
  }
  KeyBlock(const KeyBlock&) = delete;
  KeyBlock& operator=(const KeyBlock&) = delete;
  ~KeyBlock() { OPENSSL_cleanse(bytes_.data(), bytes_.size()); }

  static constexpr std::size_t kSize = 64;
  std::string_view view() const { return {bytes_.data(), bytes_.size()}; }

 private:
  std::array<char, kSize> bytes_;
};

}  // namespace

Sha256Digest::~Sha256Digest() { OPENSSL_cleanse(bytes.data(), bytes.size()); }

Result<Sha256Digest> Sha256(std::initializer_list<std::string_view> parts) {
  thread_local const HashFunction sha256("SHA256");
  Sha256Digest sum;
  auto* const into = reinterpret_cast<unsigned char*>(sum.bytes.data());
  if (sha256.Hash(parts, {into, sum.bytes.size()})) return sum;
  return Fail(Code::kInternal, "OpenSSL failed to compute a SHA-256");
}

// The masked keys are hashed again for each message. Cached contexts of OpenSSL after the masked
// keys would save 0.1 us, but they would keep the secret key in memory, and all threads would copy
// from the same contexts.
Result<Sha256Digest> HmacSha256(std::string_view key, std::string_view message) {
  if (key.size() > KeyBlock::kSize) {
    WEIR_ASSIGN_OR_RETURN(const Sha256Digest shorter, Sha256({key}));
    return HmacSha256(shorter.view(), message);
  }
  WEIR_ASSIGN_OR_RETURN(const Sha256Digest inner, Sha256({KeyBlock(key, 0x36).view(), message}));
  return Sha256({KeyBlock(key, 0x5c).view(), inner.view()});
}

std::array<char, 64> HexOf(const Sha256Digest& digest) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::array<char, 64> hex{};
  std::size_t at = 0;
  for (const char byte : digest.bytes) {
    hex[at++] = kDigits[static_cast<unsigned char>(byte) >> 4];
    hex[at++] = kDigits[static_cast<unsigned char>(byte) & 15];
  }
  return hex;
}

}  // namespace weir::internal
