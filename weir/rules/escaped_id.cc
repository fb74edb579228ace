#include "weir/rules/escaped_id.h"

#include <array>
#include <new>

#include "weir/codec/sha256.h"

namespace weir::rules {
namespace {

constexpr std::string_view kStart = "x.:_";
constexpr std::string_view kHash = ".:-";
constexpr std::size_t kHashDigits = 32;

constexpr bool IsIdLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
constexpr bool IsIdDigit(char c) { return c >= '0' && c <= '9'; }

/// For each byte, whether an id of the kind may have it. The rules are those of
/// weir/model/identifier.h.
constexpr std::array<bool, 256> AllowedBytes(std::string_view marks) {
  std::array<bool, 256> allowed{};
  for (int byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    allowed[static_cast<std::size_t>(byte)] =
        IsIdLetter(c) || IsIdDigit(c) || marks.find(c) != std::string_view::npos;
  }
  return allowed;
}
constexpr auto kEntityBytes = AllowedBytes("_.-:@");
constexpr auto kResourceBytes = AllowedBytes("_.-/:");

bool CanBegin(IdKind kind, char c) {
  return IsIdLetter(c) || (kind == IdKind::kEntity && IsIdDigit(c));
}

void AppendByte(std::string& out, char byte) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  const auto bits = static_cast<unsigned char>(byte);
  out += kEscape;
  out += kDigits[bits >> 4];
  out += kDigits[bits & 15];
}

}  // namespace

std::size_t LongestId(IdKind kind) { return kind == IdKind::kEntity ? 256 : 64; }

bool AllowsByte(IdKind kind, char byte) {
  const auto& allowed = kind == IdKind::kEntity ? kEntityBytes : kResourceBytes;
  return allowed[static_cast<unsigned char>(byte)];
}

void AppendEscaped(std::string& out, IdKind kind, std::string_view value, char separator) {
  for (std::size_t i = 0; i < value.size(); ++i) {
    const char byte = value[i];
    const bool may_begin_escape = byte == '.' && (i + 1 == value.size() || value[i + 1] == ':');
    if (!AllowsByte(kind, byte) || byte == separator || may_begin_escape) {
      AppendByte(out, byte);
    } else {
      out += byte;
    }
  }
}

std::string FinishId(IdKind kind, std::string text) {
  if (text.empty() || !CanBegin(kind, text[0])) text.insert(0, kStart);
  if (text.size() <= LongestId(kind)) return text;
  const auto digest = internal::Sha256({text});
  if (!digest) throw std::bad_alloc();
  text.resize(LongestId(kind) - kHash.size() - kHashDigits);
  text += kHash;
  return text.append(internal::HexOf(*digest).data(), kHashDigits);
}

Status CheckHash() {
  WEIR_RETURN_IF_ERROR(internal::Sha256({}));
  return {};
}

}  // namespace weir::rules
