// Text in JSON bodies that are written to a sink.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "weir/codec/sized_text.h"

namespace weir {

/// Returns the number of bytes at the beginning of `text` that need no escape in a JSON string.
std::size_t PlainJson(std::string_view text);

/// The escape sequence of one byte.
struct JsonEscape {
  std::array<char, 6> letters;
  std::size_t size;

  explicit JsonEscape(char byte);
  std::string_view view() const { return {letters.data(), size}; }
};

/// Writes `text` to a sink (sized_text.h) as a JSON string, including the quotes. Bytes that are
/// not UTF-8 are written unchanged.
template <class Sink>
void WriteJson(Sink& sink, std::string_view text) {
  Put(sink, "\"");
  for (std::size_t plain = 0; !text.empty(); text.remove_prefix(plain)) {
    plain = PlainJson(text);
    Put(sink, text.substr(0, plain));
    if (plain < text.size()) Put(sink, JsonEscape(text[plain++]).view());
  }
  Put(sink, "\"");
}

/// Appends `text` to `out` as a JSON string.
void AppendJson(std::string& out, std::string_view text);

}  // namespace weir
