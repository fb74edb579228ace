#include "weir/sim/dynamodb/expression/dynamo_expression.h"

#include <absl/strings/ascii.h>

#include <algorithm>

#include "weir/sim/dynamodb/expression/dynamo_reserved.h"

namespace weir::sim {
namespace {

constexpr std::size_t kLongestExpression = 4096;
constexpr int kMaxOperators = 300;

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
bool StartsWord(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool InWord(char c) { return StartsWord(c) || absl::ascii_isdigit(static_cast<unsigned char>(c)); }

bool EqualInAnyCase(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, {}, absl::ascii_toupper, absl::ascii_toupper);
}

std::string_view SkipSpace(std::string_view text) {
  const auto first = std::find_if_not(text.begin(), text.end(), IsSpace);
  return text.substr(static_cast<std::size_t>(first - text.begin()));
}

/// Returns how many characters from `from` on satisfy `in`.
std::size_t CountFrom(std::string_view text, std::size_t from, bool (*in)(char)) {
  std::size_t end = from;
  while (end < text.size() && in(text[end])) ++end;
  return end - from;
}

std::size_t SymbolLength(std::string_view text) {
  const std::string_view two = text.substr(0, 2);
  return two == "<=" || two == ">=" || two == "<>" ? 2 : 1;
}

template <class Map>
std::string Unused(const Map& map, const std::set<std::string>& used) {
  std::string keys;
  for (const auto& entry : map) {
    if (used.contains(entry.first)) continue;
    keys += (keys.empty() ? "" : ", ") + entry.first;
  }
  return keys;
}

}  // namespace

Result<std::string> Placeholders::NameOf(const std::string& placeholder) {
  const auto found = names_.find(placeholder);
  if (found == names_.end()) {
    return Fail(Code::kInvalidArgument,
                "An expression attribute name used in the document path is not defined; attribute "
                "name: " +
                    placeholder);
  }
  used_.insert(placeholder);
  return found->second;
}

Result<Value> Placeholders::ValueOf(const std::string& placeholder) {
  const auto found = values_.find(placeholder);
  if (found == values_.end()) {
    return Fail(Code::kInvalidArgument,
                "An expression attribute value used in expression is not defined; attribute "
                "value: " +
                    placeholder);
  }
  used_.insert(placeholder);
  return found->second;
}

Status Placeholders::CheckAllUsed() const {
  const std::string names = Unused(names_, used_);
  const std::string values = Unused(values_, used_);
  if (!names.empty()) {
    return Fail(
        Code::kInvalidArgument,
        "Value provided in ExpressionAttributeNames unused in expressions: keys: {" + names + "}");
  }
  if (!values.empty()) {
    return Fail(Code::kInvalidArgument,
                "Value provided in ExpressionAttributeValues unused in expressions: keys: {" +
                    values + "}");
  }
  return {};
}

ExpressionReader::ExpressionReader(std::string_view what, std::string_view text,
                                   Placeholders& placeholders)
    : what_(what), text_(text), rest_(text), placeholders_(placeholders) {
  Next();
}

Status ExpressionReader::CheckSize() const {
  if (text_.empty()) return Invalid("The expression can not be empty;");
  if (text_.size() > kLongestExpression) {
    return Invalid("Expression size has exceeded the maximum allowed size; expression size: " +
                   std::to_string(text_.size()));
  }
  return {};
}

// A token is a placeholder (#name, :value), a word, a number (an index) or a symbol.
void ExpressionReader::Next() {
  rest_ = SkipSpace(rest_);
  std::size_t length = 0;
  if (rest_.empty()) {
    kind_ = Kind::kEnd;
  } else if (rest_[0] == '#' || rest_[0] == ':') {
    kind_ = rest_[0] == '#' ? Kind::kName : Kind::kValue;
    length = 1 + CountFrom(rest_, 1, InWord);
  } else if (StartsWord(rest_[0])) {
    kind_ = Kind::kWord;
    length = CountFrom(rest_, 0, InWord);
  } else if (absl::ascii_isdigit(static_cast<unsigned char>(rest_[0]))) {
    kind_ = Kind::kIndex;
    length = CountFrom(rest_, 0, InWord);
  } else {
    kind_ = Kind::kSymbol;
    length = SymbolLength(rest_);
  }
  token_ = rest_.substr(0, length);
  rest_.remove_prefix(length);
}

bool ExpressionReader::At(std::string_view token) const {
  return (kind_ == Kind::kSymbol && token_ == token) ||
         (kind_ == Kind::kWord && EqualInAnyCase(token_, token));
}

bool ExpressionReader::Take(std::string_view token) {
  const bool at = At(token);
  if (at) Next();
  return at;
}

bool ExpressionReader::AtFunction() const {
  return kind_ == Kind::kWord && SkipSpace(rest_).starts_with('(');
}

Status ExpressionReader::Expect(std::string_view token) {
  if (!Take(token)) return SyntaxError();
  return {};
}

Result<std::string> ExpressionReader::ReadPathName() {
  std::string name(token_);
  if (kind_ == Kind::kName) {
    auto known = placeholders_.NameOf(name);
    if (!known) return Invalid(known.error().message);
    name = *std::move(known);
  } else if (kind_ != Kind::kWord || name.front() == '_') {
    return SyntaxError();
  } else if (IsReservedWord(name)) {
    return Invalid("Attribute name is a reserved keyword; reserved keyword: " + name);
  }
  Next();
  return name;
}

// A path is a name followed by any number of ".name" and "[index]".
Result<Path> ExpressionReader::ReadPath() {
  Path path;
  WEIR_ASSIGN_OR_RETURN(path.steps.emplace_back(), ReadPathName());
  for (;;) {
    if (Take(".")) {
      WEIR_ASSIGN_OR_RETURN(path.steps.emplace_back(), ReadPathName());
    } else if (Take("[")) {
      if (kind_ != Kind::kIndex || token_.size() > 9 ||
          !std::ranges::all_of(token_, absl::ascii_isdigit)) {
        return SyntaxError();
      }
      path.steps.emplace_back(static_cast<std::size_t>(std::stoul(std::string(token_))));
      Next();
      WEIR_RETURN_IF_ERROR(Expect("]"));
    } else {
      return path;
    }
  }
}

Result<Value> ExpressionReader::ReadValue() {
  auto value = placeholders_.ValueOf(std::string(token_));
  if (!value) return Invalid(value.error().message);
  Next();
  return value;
}

Status ExpressionReader::CountOperator() {
  if (++operators_ <= kMaxOperators) return {};
  return Invalid("The expression contains too many operators; operator count: " +
                 std::to_string(operators_));
}

tl::unexpected<Error> ExpressionReader::Invalid(const std::string& why) const {
  return Fail(Code::kInvalidArgument, "Invalid " + std::string(what_) + ": " + why);
}

tl::unexpected<Error> ExpressionReader::SyntaxError() const {
  return Invalid("Syntax error; token: \"" + (kind_ == Kind::kEnd ? "<EOF>" : std::string(token_)) +
                 "\"");
}

Result<std::vector<Path>> ParseProjection(std::string_view text, Placeholders& placeholders) {
  ExpressionReader reader("ProjectionExpression", text, placeholders);
  WEIR_RETURN_IF_ERROR(reader.CheckSize());
  std::vector<Path> paths;
  do {
    WEIR_ASSIGN_OR_RETURN(Path path, reader.ReadPath());
    for (const Path& other : paths) {
      const Status apart = CheckApart(other, path);
      if (!apart) return reader.Invalid(apart.error().message);
    }
    paths.push_back(std::move(path));
  } while (reader.Take(","));
  if (reader.kind() != ExpressionReader::Kind::kEnd) return reader.SyntaxError();
  return paths;
}

Result<Item> Project(const Item& item, const std::vector<Path>& paths) {
  Item projected;
  for (const Path& path : paths) {
    Item* holder = &projected;
    const Value* value = Find(item, path);
    for (std::size_t i = 0; i < path.steps.size(); ++i) {
      const auto* name = std::get_if<std::string>(&path.steps[i]);
      if (name == nullptr) {
        return Fail(Code::kInvalidArgument, "not simulated: a part of a list: " + ToString(path));
      }
      if (value == nullptr) break;
      if (i + 1 == path.steps.size()) {
        holder->insert_or_assign(*name, *value);
      } else {
        holder = holder->try_emplace(*name, Item{}).first->second.As<Item>();
      }
    }
  }
  return projected;
}

}  // namespace weir::sim
