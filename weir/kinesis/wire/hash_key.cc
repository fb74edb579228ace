#include "weir/kinesis/wire/hash_key.h"

#include <fmt/format.h>

#include <array>

#include "weir/kinesis/wire/md5.h"

namespace weir::kinesis {
namespace {

constexpr HashKey kMax = std::numeric_limits<HashKey>::max();
constexpr int kPieceDigits = 19;
constexpr std::uint64_t kPiece = 10'000'000'000'000'000'000U;

tl::unexpected<Error> NoHashKey(std::string_view text) {
  return Fail(Code::kInvalidArgument,
              fmt::format("explicit hash key '{}': give a decimal number from 0 to 2^128 - 1",
                          text.substr(0, 64)));
}

}  // namespace

HashKey HashOfPartitionKey(std::string_view partition_key) {
  HashKey hash = 0;
  for (const std::uint8_t byte : Md5Of({partition_key})) hash = hash << 8 | byte;
  return hash;
}

Result<HashKey> ParseHashKey(std::string_view decimal) {
  if (decimal.empty()) return NoHashKey(decimal);
  HashKey key = 0;
  for (const char letter : decimal) {
    if (letter < '0' || letter > '9') return NoHashKey(decimal);
    const auto digit = static_cast<std::uint64_t>(letter - '0');
    if (key > (kMax - digit) / 10) return NoHashKey(decimal);
    key = key * 10 + digit;
  }
  return key;
}

std::string FormatHashKey(HashKey key) {
  // Dividing 128 bits is slow, so it is done only once for each piece of 19 digits. The digits of a
  // piece come from divisions of 64 bits.
  std::array<char, 39> digits;
  auto at = digits.end();
  do {
    auto piece = absl::Uint128Low64(key % kPiece);
    key /= kPiece;
    for (int i = 0; piece != 0 || (key != 0 && i < kPieceDigits); ++i, piece /= 10) {
      *--at = static_cast<char>('0' + piece % 10);
    }
  } while (key != 0);
  if (at == digits.end()) *--at = '0';
  return {at, digits.end()};
}

}  // namespace weir::kinesis
