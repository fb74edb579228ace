#include "weir/grpc/status_text.h"

#include <absl/strings/escaping.h>
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "weir/model/stored_text.h"

namespace weir::grpc {

namespace {

constexpr std::size_t kLongestMessage = 512;

bool IsContinuation(char letter) { return (static_cast<unsigned char>(letter) & 0xC0) == 0x80; }

// Returns how many bytes before the last one belong to the same character; a character has at most
// four. 0 if they are not UTF-8.
std::size_t BytesOfCutCharacter(std::string_view text) {
  for (std::size_t before = 0; before < std::min<std::size_t>(4, text.size()); ++before) {
    if (!IsContinuation(text[text.size() - 1 - before])) return before;
  }
  return 0;
}

}  // namespace

std::string StatusMessage(std::string_view message) {
  std::size_t size = std::min(message.size(), kLongestMessage);
  if (size < message.size())
    size -= std::min(size, BytesOfCutCharacter(message.substr(0, size + 1)));
  std::string text(message.substr(0, size));
  if (IsUtf8(text)) return text;
  std::ranges::replace_if(
      text, [](char letter) { return static_cast<signed char>(letter) < 0; }, '?');
  return text;
}

std::string EscapeStatusMessage(std::string_view message) {
  std::string text;
  for (const char letter : message) {
    if (letter >= ' ' && letter <= '~' && letter != '%') {
      text += letter;
    } else {
      fmt::format_to(std::back_inserter(text), "%{:02X}", static_cast<unsigned char>(letter));
    }
  }
  return text;
}

std::string EncodeBinaryHeader(std::string_view bytes) {
  std::string text = absl::Base64Escape({bytes.data(), bytes.size()});
  text.resize(text.find_last_not_of('=') + 1);
  return text;
}

}  // namespace weir::grpc
