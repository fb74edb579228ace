// SHA-256 (FIPS 180-4) and HMAC-SHA-256 (RFC 2104) of short texts, by OpenSSL.
#pragma once

#include <array>
#include <initializer_list>
#include <string_view>

#include "weir/base/result.h"

namespace weir::internal {

/// Its destructor wipes the bytes, as they may be a key.
struct Sha256Digest {
  std::array<char, 32> bytes{};

  Sha256Digest() = default;
  Sha256Digest(const Sha256Digest&) = default;
  Sha256Digest& operator=(const Sha256Digest&) = default;
  ~Sha256Digest();

  std::string_view view() const { return {bytes.data(), bytes.size()}; }
};

/// Returns the hash of the concatenation of the parts. Both functions return kInternal if OpenSSL
/// fails, for example because it has no SHA-256.
Result<Sha256Digest> Sha256(std::initializer_list<std::string_view> parts);
Result<Sha256Digest> HmacSha256(std::string_view key, std::string_view message);

/// Returns the digest as lower-case hexadecimal digits.
std::array<char, 64> HexOf(const Sha256Digest& digest);

}  // namespace weir::internal
