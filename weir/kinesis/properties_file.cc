#include "weir/kinesis/properties_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <utility>

namespace weir::kinesis {
namespace {

constexpr std::string_view kBlanks = " \t\f";

bool IsBlank(char letter) { return kBlanks.find(letter) != kBlanks.npos; }

std::string_view WithoutLeadingBlanks(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  return text;
}

std::string Trimmed(std::string_view text) {
  text = WithoutLeadingBlanks(text);
  return std::string(text.substr(0, text.find_last_not_of(kBlanks) + 1));
}

/// The logical lines of the format: continued lines are joined, comments and empty lines left out.
class Lines {
 public:
  explicit Lines(std::string_view text) : rest_(text) {}

  struct Line {
    std::string text;  ///< with its escapes
    int number;
  };
  std::optional<Line> Next() {
    while (!rest_.empty()) {
      Line line{.text = std::string(WithoutLeadingBlanks(TakeOne())), .number = number_};
      if (line.text.empty() || line.text[0] == '#' || line.text[0] == '!') continue;
      while (IsContinued(line.text) && !rest_.empty()) {
        line.text.pop_back();
        line.text += WithoutLeadingBlanks(TakeOne());
      }
      if (IsContinued(line.text)) line.text.pop_back();
      return line;
    }
    return std::nullopt;
  }

 private:
  std::string_view TakeOne() {
    ++number_;
    const std::size_t end = std::min(rest_.find_first_of("\r\n"), rest_.size());
    const std::string_view line = rest_.substr(0, end);
    rest_.remove_prefix(end);
    // A line ends with "\n", "\r" or "\r\n".
    if (rest_.starts_with('\r')) rest_.remove_prefix(1);
    if (rest_.starts_with('\n')) rest_.remove_prefix(1);
    return line;
  }

  // Only an odd number of backslashes at the end continues a line: a pair is an escaped backslash.
  static bool IsContinued(std::string_view line) {
    const std::size_t last = line.find_last_not_of('\\');
    const std::size_t backslashes = line.size() - (last == line.npos ? 0 : last + 1);
    return backslashes % 2 == 1;
  }

  std::string_view rest_;
  int number_ = 0;
};

void AppendUtf8(std::string& out, std::uint32_t code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xC0 | code >> 6);
    out += static_cast<char>(0x80 | (code & 0x3F));
  } else {
    out += static_cast<char>(0xE0 | code >> 12);
    out += static_cast<char>(0x80 | (code >> 6 & 0x3F));
    out += static_cast<char>(0x80 | (code & 0x3F));
  }
}

std::optional<std::uint32_t> FourDigits(std::string_view text) {
  std::uint32_t code = 0;
  const std::string_view digits = text.substr(0, 4);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
  if (digits.size() < 4 || error != std::errc{} || end != digits.data() + 4) return std::nullopt;
  return code;
}

Result<std::string> Unescaped(std::string_view text, int line) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      plain += text[i];
      continue;
    }
    const char escaped = text[++i];
    constexpr std::string_view kNames = "tnrf", kMeant = "\t\n\r\f";
    if (const std::size_t known = kNames.find(escaped); known != kNames.npos) {
      plain += kMeant[known];
    } else if (escaped != 'u') {
      plain += escaped;
    } else if (const auto code = FourDigits(text.substr(i + 1))) {
      AppendUtf8(plain, *code);
      i += 4;
    } else {
      return Fail(Code::kInvalidArgument,
                  fmt::format("line {}: \\u needs four hexadecimal digits", line));
    }
  }
  return plain;
}

// The name ends before the first blank, '=' or ':' that is not escaped.
std::size_t NameEnd(std::string_view line) {
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\\') {
      ++i;
    } else if (IsBlank(line[i]) || line[i] == '=' || line[i] == ':') {
      return i;
    }
  }
  return line.size();
}

std::string_view ValueOf(std::string_view line) {
  std::string_view value = WithoutLeadingBlanks(line.substr(std::min(NameEnd(line), line.size())));
  if (value.starts_with('=') || value.starts_with(':')) value.remove_prefix(1);
  return value;
}

}  // namespace

Result<std::vector<Property>> ReadProperties(std::string_view text) {
  std::vector<Property> properties;
  Lines lines(text);
  while (const auto line = lines.Next()) {
    const std::string_view name = std::string_view(line->text).substr(0, NameEnd(line->text));
    WEIR_ASSIGN_OR_RETURN(std::string plain_name, Unescaped(name, line->number));
    WEIR_ASSIGN_OR_RETURN(const std::string value, Unescaped(ValueOf(line->text), line->number));
    properties.push_back({std::move(plain_name), Trimmed(value), line->number});
  }
  return properties;
}

}  // namespace weir::kinesis
