#include "weir/codec/json_text.h"

#include <cstdint>
#include <cstring>

namespace weir {
namespace {

constexpr std::string_view kHexDigits = "0123456789abcdef";

constexpr std::uint64_t kOnes = 0x0101'0101'0101'0101U;
constexpr std::uint64_t kHighBits = kOnes * 0x80;

bool IsPlain(char byte) {
  return byte != '"' && byte != '\\' && static_cast<unsigned char>(byte) >= 0x20;
}

/// Returns 0 if and only if none of the eight bytes of a word is below `bound`. Subtracting `bound`
/// from a smaller byte sets its high bit; bytes whose high bit is set in the word are not below.
constexpr std::uint64_t BytesBelow(std::uint64_t word, std::uint64_t bound) {
  return (word - kOnes * bound) & ~word & kHighBits;
}

bool ArePlain(const char* eight) {
  std::uint64_t word = 0;
  std::memcpy(&word, eight, sizeof(word));
  return (BytesBelow(word, 0x20) | BytesBelow(word ^ kOnes * '"', 1) |
          BytesBelow(word ^ kOnes * '\\', 1)) == 0;
}

}  // namespace

std::size_t PlainJson(std::string_view text) {
  std::size_t plain = 0;
  while (text.size() - plain >= 8 && ArePlain(text.data() + plain)) plain += 8;
  while (plain < text.size() && IsPlain(text[plain])) ++plain;
  return plain;
}

JsonEscape::JsonEscape(char byte) : letters{'\\', byte}, size(2) {
  const auto number = static_cast<unsigned char>(byte);
  if (number >= 0x20) return;
  letters = {'\\', 'u', '0', '0', kHexDigits[number >> 4], kHexDigits[number & 15]};
  size = letters.size();
}

void AppendJson(std::string& out, std::string_view text) {
  AppendSized(out, [text](auto& sink) { WriteJson(sink, text); });
}

}  // namespace weir
