#include "weir/kinesis/base64.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

namespace weir::kinesis {
namespace {

constexpr std::string_view kLetters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

using Pair = std::array<char, 2>;

// Two letters for each 12 bits: half the look-ups of a table of letters.
constexpr auto kPairs = [] {
  std::array<Pair, 4096> pairs{};
  for (std::size_t bits = 0; bits < pairs.size(); ++bits) {
    pairs[bits] = {kLetters[bits >> 6], kLetters[bits & 63]};
  }
  return pairs;
}();

std::uint64_t ByteAt(std::string_view bytes, std::size_t place) {
  return place < bytes.size() ? static_cast<unsigned char>(bytes[place]) : 0U;
}

/// The letters of 12 bits.
void WritePair(char* at, std::uint64_t bits) { std::memcpy(at, kPairs[bits & 4095].data(), 2); }

/// The first six of eight bytes.
std::uint64_t SixBytes(const char* from) {
  std::uint64_t value = 0;
  std::memcpy(&value, from, sizeof(value));
  if constexpr (std::endian::native == std::endian::little) value = std::byteswap(value);
  return value >> 16;
}

}  // namespace

void WriteBase64(char* at, std::string_view bytes) {
  for (; bytes.size() >= sizeof(std::uint64_t); bytes.remove_prefix(6), at += 8) {
    const std::uint64_t six = SixBytes(&bytes.front());
    WritePair(at, six >> 36);
    WritePair(at + 2, six >> 24);
    WritePair(at + 4, six >> 12);
    WritePair(at + 6, six);
  }
  for (; !bytes.empty(); bytes.remove_prefix(std::min<std::size_t>(3, bytes.size())), at += 4) {
    const std::uint64_t three = ByteAt(bytes, 0) << 16 | ByteAt(bytes, 1) << 8 | ByteAt(bytes, 2);
    WritePair(at, three >> 12);
    WritePair(at + 2, three);
    if (bytes.size() < 3) at[3] = '=';
    if (bytes.size() < 2) at[2] = '=';
  }
}

}  // namespace weir::kinesis
