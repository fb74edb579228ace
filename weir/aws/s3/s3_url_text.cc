#include "weir/aws/s3/s3_url_text.h"

#include <fmt/format.h>

#include <charconv>

namespace weir::internal {
namespace {

bool IsUnreserved(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_' || c == '~';
}

std::optional<char> ByteOf(std::string_view digits) {
  if (digits.size() != 2) return std::nullopt;
  unsigned number = 0;
  const auto [end, fault] = std::from_chars(digits.begin(), digits.end(), number, 16);
  if (fault != std::errc() || end != digits.end()) return std::nullopt;
  return static_cast<char>(number);
}

}  // namespace

std::string EncodeForS3(std::string_view text, bool keeps_slash) {
  std::string encoded;
  for (const char c : text) {
    if (IsUnreserved(c) || (keeps_slash && c == '/')) {
      encoded += c;
    } else {
      encoded += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return encoded;
}

std::optional<std::string> DecodeFromS3(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += text[i] == '+' ? ' ' : text[i];
      continue;
    }
    const auto byte = ByteOf(text.substr(i + 1, 2));
    if (!byte) return std::nullopt;
    decoded += *byte;
    i += 2;
  }
  return decoded;
}

}  // namespace weir::internal
