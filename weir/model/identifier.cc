#include "weir/model/identifier.h"

#include <fmt/format.h>

#include "weir/model/quoted.h"
#include "weir/model/stored_text.h"

namespace weir {
namespace {

struct Rule {
  std::string_view what;  // names the identifier in messages
  enum class First { kLetter, kLetterOrDigit } first;
  std::string_view marks;  // allowed after the first character, in addition to letters and digits
  std::size_t longest;
};

constexpr Rule kEntity = {"entity id", Rule::First::kLetterOrDigit, "_.-:@", 256};
constexpr Rule kAuthor = {"author", Rule::First::kLetterOrDigit, "_.-:@", 256};
constexpr Rule kResource = {"resource", Rule::First::kLetter, "_.-/:", 64};
constexpr Rule kLimit = {"limit name", Rule::First::kLetter, "_.-", 64};
constexpr Rule kNamespace = {"namespace", Rule::First::kLetterOrDigit, "_.-", 64};

// The ctype functions depend on the locale; these rules must not.
bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

bool AllowsCharacter(const Rule& rule, std::size_t at, char c) {
  if (IsLetter(c)) return true;
  if (at == 0) return IsDigit(c) && rule.first == Rule::First::kLetterOrDigit;
  return IsDigit(c) || rule.marks.find(c) != std::string_view::npos;
}

tl::unexpected<Error> RefuseName(const Rule& rule, std::string_view name, std::string_view what) {
  const char* first = rule.first == Rule::First::kLetter ? "a letter" : "a letter or digit";
  return Fail(Code::kInvalidArgument,
              fmt::format("{} {} {}; expected {}, then letters, digits and {}, at most {} "
                          "bytes",
                          rule.what, Quoted(name), what, first, rule.marks, rule.longest));
}

/// Names the first character of `rest`. A letter of another alphabet may look like an ASCII letter.
std::string NameOfCharacter(std::string_view rest) {
  const auto character = FirstCharacter(rest);
  if (!character || character->bytes == 1) return Quoted(rest.substr(0, 1));
  return fmt::format("{} (U+{:04X}), which is not ASCII,", Quoted(rest.substr(0, character->bytes)),
                     static_cast<std::uint32_t>(character->value));
}

Status Check(const Rule& rule, std::string_view name) {
  if (name.empty()) return RefuseName(rule, name, "is empty");
  if (name.size() > rule.longest) {
    return RefuseName(rule, name, fmt::format("is {} bytes long", name.size()));
  }
  for (std::size_t at = 0; at < name.size(); ++at) {
    if (AllowsCharacter(rule, at, name[at])) continue;
    return RefuseName(
        rule, name, fmt::format("has {} at position {}", NameOfCharacter(name.substr(at)), at + 1));
  }
  return {};
}

}  // namespace

Status CheckEntityId(std::string_view id) { return Check(kEntity, id); }

Status CheckAuthor(std::string_view author) { return Check(kAuthor, author); }

Status CheckResource(std::string_view resource) {
  if (resource == kDefaultResource) {
    return RefuseName(kResource, resource, "means all resources of an entity");
  }
  return Check(kResource, resource);
}

Status CheckLimitName(std::string_view name) {
  if (name == "wcu") return RefuseName(kLimit, name, "is reserved");
  return Check(kLimit, name);
}

Status CheckNamespace(std::string_view name) {
  if (name == "_") return RefuseName(kNamespace, name, "is reserved");
  return Check(kNamespace, name);
}

}  // namespace weir
