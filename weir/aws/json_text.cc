#include "weir/aws/json_text.h"

#include <fmt/format.h>

#include <iterator>

namespace weir {

void AppendJson(std::string& out, std::string_view text) {
  out += '"';
  for (const char byte : text) {
    if (byte == '"' || byte == '\\') {
      out += '\\';
      out += byte;
    } else if (static_cast<unsigned char>(byte) < 0x20) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned char>(byte));
    } else {
      out += byte;
    }
  }
  out += '"';
}

}  // namespace weir
