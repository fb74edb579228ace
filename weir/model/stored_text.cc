#include "weir/model/stored_text.h"

#include <fmt/format.h>

#include "weir/model/quoted.h"

namespace weir {
namespace {

unsigned ByteAt(std::string_view text, std::size_t at) {
  return at < text.size() ? static_cast<unsigned char>(text[at]) : 0U;
}

// Returns the length of a character in bytes, given its first byte; 0 if no character begins with
// this byte.
std::size_t LengthOf(unsigned first) {
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first < 0xe0) return 2;
  if (first >= 0xe0 && first < 0xf0) return 3;
  return first >= 0xf0 && first < 0xf5 ? 4 : 0;
}

// Returns false for an overlong form: the value would fit into fewer bytes.
bool IsShortest(char32_t value, std::size_t bytes) {
  return bytes < 3 || (bytes == 3 ? value >= 0x800 : value >= 0x10000);
}

// Returns the character at index `at`; nothing if it is not UTF-8 (RFC 3629, section 4).
std::optional<Character> ReadCharacter(std::string_view text, std::size_t at) {
  const unsigned first = ByteAt(text, at);
  const std::size_t bytes = LengthOf(first);
  if (bytes == 0) return std::nullopt;
  char32_t value = bytes == 1 ? first : first & (0x7fU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    const unsigned next = ByteAt(text, at + i);
    if ((next & 0xc0U) != 0x80U) return std::nullopt;
    value = value << 6 | (next & 0x3fU);
  }
  const bool is_surrogate = value >= 0xd800 && value <= 0xdfff;
  if (!IsShortest(value, bytes) || is_surrogate || value > 0x10ffff) return std::nullopt;
  return Character{.value = value, .bytes = bytes};
}

bool IsControlCharacter(char32_t value) { return value < 0x20 || (value >= 0x7f && value < 0xa0); }

bool IsAllowed(const TextRule& rule, char32_t value) {
  const bool is_space = value == U'\t' || value == U'\n' || value == U'\r';
  return !IsControlCharacter(value) || (rule.may_have_lines && is_space);
}

tl::unexpected<Error> RefuseText(const TextRule& rule, std::string_view text,
                                 std::string_view why) {
  return Fail(Code::kInvalidArgument,
              fmt::format("{} {} {}; expected {} bytes of UTF-8 without control characters",
                          rule.what, Quoted(text), why,
                          rule.may_be_empty ? fmt::format("at most {}", rule.longest)
                                            : fmt::format("1 to {}", rule.longest)));
}

}  // namespace

bool IsUtf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const auto character = ReadCharacter(text, at);
    if (!character) return false;
    at += character->bytes;
  }
  return true;
}

std::optional<Character> FirstCharacter(std::string_view text) { return ReadCharacter(text, 0); }

Status CheckText(const TextRule& rule, std::string_view text) {
  if (text.empty() && !rule.may_be_empty) return RefuseText(rule, text, "is empty");
  if (text.size() > rule.longest) {
    return RefuseText(rule, text, fmt::format("is {} bytes long", text.size()));
  }
  for (std::size_t at = 0; at < text.size();) {
    const auto character = ReadCharacter(text, at);
    if (!character)
      return RefuseText(rule, text, fmt::format("is not UTF-8 at position {}", at + 1));
    if (!IsAllowed(rule, character->value)) {
      return RefuseText(rule, text, fmt::format("has a control character at position {}", at + 1));
    }
    at += character->bytes;
  }
  return {};
}

}  // namespace weir
