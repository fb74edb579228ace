// Text in JSON bodies that are written as streams.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "weir/aws/sized_text.h"

namespace weir {

/// How many bytes at the beginning of `text` stand for themselves in a JSON string.
std::size_t PlainJson(std::string_view text);

/// A byte that does not, as it is written there.
struct JsonEscape {
  std::array<char, 6> letters;
  std::size_t size;

  explicit JsonEscape(char byte);
  std::string_view view() const { return {letters.data(), size}; }
};

/// Writes `text` to a sink (sized_text.h) as a JSON string, quotes included. Bytes that are no
/// UTF-8 go in as they are.
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

/// The same, at the end of a string.
void AppendJson(std::string& out, std::string_view text);

}  // namespace weir
