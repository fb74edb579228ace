#include "weir/rules/import/cel_condition.h"

#include <algorithm>
#include <charconv>

namespace weir::rules {
namespace {

bool IsCelBlank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool IsCelLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool IsCelDigit(char c) { return c >= '0' && c <= '9'; }

/// Reads tokens from the front of the text. If the text does not begin with the token, Take returns
/// false, and the other Take functions return nothing and may have consumed a part of the text.
class CelScanner {
 public:
  explicit CelScanner(std::string_view text) : rest_(text) {}

  /// Skips blanks, then `token`. Returns false if something else follows the blanks.
  bool Take(std::string_view token) {
    SkipBlanks();
    if (!rest_.starts_with(token)) return false;
    rest_.remove_prefix(token.size());
    return true;
  }
  bool AtEnd() {
    SkipBlanks();
    return rest_.empty();
  }
  std::optional<std::uint32_t> TakeIndex();
  std::optional<std::string> TakeIdentifier();
  std::optional<std::string> TakeString();
  std::optional<DescriptorPath> TakePath();

 private:
  void SkipBlanks() {
    while (!rest_.empty() && IsCelBlank(rest_[0])) rest_.remove_prefix(1);
  }

  std::string_view rest_;
};

std::optional<std::uint32_t> CelScanner::TakeIndex() {
  SkipBlanks();
  std::uint32_t index = 0;
  const auto [end, fault] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), index);
  if (fault != std::errc()) return {};
  rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
  return index;
}

std::optional<std::string> CelScanner::TakeIdentifier() {
  SkipBlanks();
  if (rest_.empty() || !IsCelLetter(rest_[0])) return {};
  const auto end =
      std::ranges::find_if(rest_, [](char c) { return !IsCelLetter(c) && !IsCelDigit(c); });
  std::string name(rest_.begin(), end);
  rest_.remove_prefix(name.size());
  return name;
}

std::optional<std::string> CelScanner::TakeString() {
  SkipBlanks();
  if (rest_.empty() || (rest_[0] != '\'' && rest_[0] != '"')) return {};
  const auto end = rest_.find(rest_[0], 1);
  if (end == rest_.npos) return {};
  std::string text(rest_.substr(1, end - 1));
  if (text.find_first_of("\\\n\r") != text.npos) return {};
  rest_.remove_prefix(end + 1);
  // '''...''' is a string over several lines.
  if (text.empty() && !rest_.empty() && (rest_[0] == '\'' || rest_[0] == '"')) return {};
  return text;
}

std::optional<DescriptorPath> CelScanner::TakePath() {
  if (!Take("descriptors") || !Take("[")) return {};
  const auto index = TakeIndex();
  if (!index || !Take("]")) return {};
  const bool is_member = Take(".");
  if (!is_member && !Take("[")) return {};
  auto key = is_member ? TakeIdentifier() : TakeString();
  if (!key || key->empty() || (!is_member && !Take("]"))) return {};
  return DescriptorPath{*index, std::move(*key)};
}

}  // namespace

std::optional<DescriptorPath> ParseDescriptorPath(std::string_view text) {
  CelScanner scanner(text);
  auto path = scanner.TakePath();
  if (!path || !scanner.AtEnd()) return {};
  return path;
}

std::optional<std::vector<DescriptorEquality>> ParseConjunction(std::string_view text) {
  CelScanner scanner(text);
  std::vector<DescriptorEquality> all;
  do {
    auto path = scanner.TakePath();
    if (!path || !scanner.Take("==")) return {};
    auto value = scanner.TakeString();
    if (!value) return {};
    all.push_back({std::move(*path), std::move(*value)});
  } while (scanner.Take("&&"));
  if (!scanner.AtEnd()) return {};
  return all;
}

}  // namespace weir::rules
