#include "weir/grpc/status_text.h"

#include <absl/strings/escaping.h>
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "weir/model/stored_text.h"

namespace weir::grpc {
namespace {

constexpr std::size_t kLongestMessage = 512;

}  // namespace

std::string StatusMessage(std::string_view message) {
  const std::string_view kept = message.substr(0, kLongestMessage);
  // If the cut is within a character, at most three of the character's bytes are left.
  const std::size_t longest_rest = kept.size() < message.size() ? 3 : 0;
  for (std::size_t rest = 0; rest <= longest_rest; ++rest) {
    const std::string_view whole = kept.substr(0, kept.size() - rest);
    if (IsUtf8(whole)) return std::string(whole);
  }
  std::string text(kept);
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
