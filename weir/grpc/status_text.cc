#include "weir/grpc/status_text.h"

#include <absl/strings/escaping.h>
#include <fmt/format.h>

#include <iterator>

namespace weir::grpc {

std::string EscapeStatusMessage(std::string_view message) {
  constexpr std::size_t kMaxMessage = 1'024;
  std::string text;
  for (const char letter : message) {
    if (text.size() + 3 > kMaxMessage) break;
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
