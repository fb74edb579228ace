#include "weir/model/yaml_text.h"

#include <algorithm>
#include <array>

namespace weir {
namespace {

// Words that some parsers of YAML 1.1 or 1.2 do not read as text.
constexpr std::array<std::string_view, 9> kYamlKeywords = {"null", "true", "false", "yes", "no",
                                                           "on",   "off",  "y",     "n"};

bool IsYamlKeyword(std::string_view name) {
  return std::ranges::any_of(kYamlKeywords, [name](std::string_view keyword) {
    return std::ranges::equal(name, keyword, {}, [](char c) {
      return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
  });
}

bool IsYamlLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

bool IsPlainYamlByte(char c) {
  return IsYamlLetter(c) || std::string_view("_.-/@0123456789").find(c) != std::string_view::npos;
}

bool IsPlainYaml(std::string_view text) {
  return !text.empty() && (IsYamlLetter(text[0]) || text[0] == '_') && !IsYamlKeyword(text) &&
         std::ranges::all_of(text, IsPlainYamlByte);
}

}  // namespace

std::string YamlText(std::string_view text) {
  if (IsPlainYaml(text)) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

}  // namespace weir
