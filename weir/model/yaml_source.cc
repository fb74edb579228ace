#include "weir/model/yaml_source.h"

#include <fmt/format.h>

#include <algorithm>

#include "weir/model/quoted.h"

namespace weir {
namespace {

constexpr std::size_t kPiece = 2048;

bool IsControl(char c) {
  return (c >= '\0' && c < ' ' && c != '\n' && c != '\r' && c != '\t') || c == '\x7f';
}

}  // namespace

YamlSource::int_type YamlSource::underflow() {
  if (given_ == text_.size()) return traits_type::eof();
  starved_ = starved_ || given_ - silent_since_ >= kMaxBytesWithoutEvent;
  if (starved_) return traits_type::eof();
  // streambuf requires mutable characters, but only pbackfail changes them, which is not
  // overridden.
  char* const piece = const_cast<char*>(text_.data()) + given_;
  const std::size_t size = std::min(kPiece, text_.size() - given_);
  setg(piece, piece, piece + size);
  given_ += size;
  return traits_type::to_int_type(*piece);
}

Status CheckYamlBytes(std::string_view text, std::string_view file_name) {
  if (text.size() > kMaxYamlBytes) {
    return RefuseAt(
        file_name, 1,
        fmt::format("the file has {} bytes; expected at most {}", text.size(), kMaxYamlBytes));
  }
  const bool is_utf16 = text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff");
  const auto bad = is_utf16 ? text.begin() : std::ranges::find_if(text, IsControl);
  if (bad == text.end()) return {};
  const auto line = 1 + std::count(text.begin(), bad, '\n');
  return RefuseAt(
      file_name, static_cast<int>(line),
      fmt::format("the byte {}; expected text in UTF-8", Quoted(std::string_view(bad, bad + 1))));
}

tl::unexpected<Error> RefuseAt(std::string_view file_name, int line, std::string_view message) {
  return Fail(Code::kInvalidArgument,
              fmt::format("{}:{}: {}", Printable(file_name), line, message));
}

}  // namespace weir
