#include "weir/sim/kinesis/kinesis_hash.h"

#include <openssl/evp.h>

#include <algorithm>
#include <cstdlib>

namespace weir::sim {

std::array<std::uint8_t, 16> Md5(std::string_view bytes) {
  std::array<std::uint8_t, 16> sum{};
  if (EVP_Digest(bytes.data(), bytes.size(), sum.data(), nullptr, EVP_md5(), nullptr) != 1) {
    std::abort();
  }
  return sum;
}

Hash128 HashOfKey(std::string_view partition_key) {
  Hash128 hash = 0;
  for (const std::uint8_t byte : Md5(partition_key)) hash = hash * 256 + byte;
  return hash;
}

std::optional<Hash128> ReadHash(std::string_view decimal) {
  if (decimal.empty()) return std::nullopt;
  Hash128 hash = 0;
  for (const char letter : decimal) {
    if (letter < '0' || letter > '9') return std::nullopt;
    const auto digit = static_cast<unsigned>(letter - '0');
    if (hash > (kLastHash - digit) / 10) return std::nullopt;
    hash = hash * 10 + digit;
  }
  return hash;
}

std::string WriteHash(Hash128 hash) {
  std::string digits;
  for (; hash >= 10; hash /= 10) digits += static_cast<char>('0' + static_cast<int>(hash % 10));
  digits += static_cast<char>('0' + static_cast<int>(hash));
  std::ranges::reverse(digits);
  return digits;
}

}  // namespace weir::sim
