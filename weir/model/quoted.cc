#include "weir/model/quoted.h"

#include <fmt/format.h>

#include <iterator>

namespace weir {
namespace {

constexpr std::size_t kLongestQuote = 80;

}  // namespace

std::string Printable(std::string_view text) {
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

std::string Quoted(std::string_view text) {
  if (text.size() <= kLongestQuote) return fmt::format("'{}'", Printable(text));
  return fmt::format("'{}...'", Printable(text.substr(0, kLongestQuote)));
}

}  // namespace weir
