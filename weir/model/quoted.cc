#include "weir/model/quoted.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>

#include "weir/model/stored_text.h"

namespace weir {
namespace {

constexpr std::size_t kLongestQuote = 80;

struct CharacterRange {
  char32_t first;
  char32_t last;
};

// The categories Cc, Cf, Zs (without U+0020), Zl and Zp of Unicode 15, without the visible signs
// of Cf (such as U+0600); the other code points of the blocks with bidirectional controls and with
// tags; and those that are drawn as nothing although they count as letters or marks: fillers,
// variation selectors, the grapheme joiner, the empty Braille pattern.
constexpr std::array kInvisible = std::to_array<CharacterRange>(
    {{0x00, 0x1f},       {0x7f, 0xa0},       {0xad, 0xad},      {0x34f, 0x34f},
     {0x61c, 0x61c},     {0x115f, 0x1160},   {0x1680, 0x1680},  {0x17b4, 0x17b5},
     {0x180b, 0x180f},   {0x2000, 0x200f},   {0x2028, 0x202f},  {0x205f, 0x206f},
     {0x2800, 0x2800},   {0x3000, 0x3000},   {0x3164, 0x3164},  {0xfe00, 0xfe0f},
     {0xfeff, 0xfeff},   {0xffa0, 0xffa0},   {0xfff9, 0xfffb},  {0x13430, 0x1345f},
     {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0000, 0xe01ef}});

bool IsVisible(char32_t value) {
  return std::ranges::none_of(kInvisible, [value](const CharacterRange& range) {
    return range.first <= value && value <= range.last;
  });
}

bool ContinuesCharacter(char c) { return (static_cast<unsigned char>(c) & 0xc0U) == 0x80U; }

/// Returns the first bytes of `text`, at most kLongestQuote, without a part of a character at their
/// end. REQUIRES: `text` is longer.
std::string_view CutBetweenCharacters(std::string_view text) {
  constexpr std::size_t kLongestCharacter = 4;
  std::size_t end = kLongestQuote;
  while (ContinuesCharacter(text[end]) && end > kLongestQuote - kLongestCharacter) --end;
  return text.substr(0, ContinuesCharacter(text[end]) ? kLongestQuote : end);
}

}  // namespace

std::string PrintableAscii(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c >= ' ' && c <= '~') {
      out += c;
    } else {
      fmt::format_to(std::back_inserter(out), "\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

std::string Printable(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::optional<Character> first = FirstCharacter(text);
    const std::string_view bytes = text.substr(0, first ? first->bytes : 1);
    const bool is_kept = first && IsVisible(first->value);
    out += is_kept ? std::string(bytes) : PrintableAscii(bytes);
    text.remove_prefix(bytes.size());
  }
  return out;
}

std::string Quoted(std::string_view text) {
  if (text.size() <= kLongestQuote) return fmt::format("'{}'", Printable(text));
  return fmt::format("'{}...'", Printable(CutBetweenCharacters(text)));
}

}  // namespace weir
