#include "weir/dynamodb/expression.h"

#include <fmt/compile.h>

#include <algorithm>
#include <iterator>

namespace weir::dynamo {
namespace {

// A decision formats dozens of short texts, so their formats are compiled (FMT_COMPILE). Its
// expression has about this number of names, and of values.
constexpr std::size_t kUsual = 16;

// Returns the index of an element, which is appended if it is missing.
template <class T>
std::ptrdiff_t IndexOf(std::vector<T>& known, T element) {
  const auto found = std::ranges::find(known, element);
  const std::ptrdiff_t index = found - known.begin();
  if (found != known.end()) return index;
  if (known.empty()) known.reserve(kUsual);
  known.push_back(std::move(element));
  return index;
}

// Returns the position for the next part of a clause.
auto Next(std::string& clause) {
  if (!clause.empty()) clause += ", ";
  return std::back_inserter(clause);
}

void AppendClause(std::string& text, std::string_view word, std::string_view clause) {
  if (clause.empty()) return;
  if (!text.empty()) text += ' ';
  text.append(word).append(" ").append(clause);
}

}  // namespace

std::string Expression::Name(std::string_view attribute) {
  return fmt::format(FMT_COMPILE("#{}"), IndexOf(names_, std::string(attribute)));
}

std::string Expression::Of(Value value) {
  return fmt::format(FMT_COMPILE(":{}"), IndexOf(values_, std::move(value)));
}

Expression& Expression::Set(std::string_view attribute, Value value) {
  fmt::format_to(Next(sets_), FMT_COMPILE("{} = {}"), Name(attribute), Of(std::move(value)));
  return *this;
}

Expression& Expression::Add(std::string_view attribute, std::int64_t number) {
  fmt::format_to(Next(adds_), FMT_COMPILE("{} {}"), Name(attribute), Of(dynamo::Of(number)));
  return *this;
}

Expression& Expression::Add(std::string_view attribute, StringSet members) {
  fmt::format_to(Next(adds_), FMT_COMPILE("{} {}"), Name(attribute), Of({std::move(members)}));
  return *this;
}

Expression& Expression::Delete(std::string_view attribute, StringSet members) {
  fmt::format_to(Next(deletes_), FMT_COMPILE("{} {}"), Name(attribute), Of({std::move(members)}));
  return *this;
}

Expression& Expression::Remove(std::string_view attribute) {
  fmt::format_to(Next(removes_), FMT_COMPILE("{}"), Name(attribute));
  return *this;
}

Expression& Expression::Require(std::string_view condition) {
  if (!conditions_.empty()) conditions_ += " AND ";
  conditions_ += condition;
  return *this;
}

Expression& Expression::Require(std::string_view attribute, std::string_view comparison,
                                std::int64_t number) {
  return Require(
      fmt::format(FMT_COMPILE("{} {} {}"), Name(attribute), comparison, Of(dynamo::Of(number))));
}

Expression& Expression::RequireEqual(std::string_view attribute, Value value) {
  return Require(fmt::format(FMT_COMPILE("{} = {}"), Name(attribute), Of(std::move(value))));
}

Expression& Expression::RequireSame(std::string_view attribute, const std::optional<Value>& seen) {
  return seen ? RequireEqual(attribute, *seen) : RequireAbsent(attribute);
}

Expression& Expression::RequireSameAs(const Item& seen, std::string_view attribute) {
  const auto found = seen.find(attribute);
  return RequireSame(attribute, found == seen.end() ? std::nullopt : std::optional(found->second));
}

Expression& Expression::RequireExists(std::string_view attribute) {
  return Require(fmt::format(FMT_COMPILE("attribute_exists({})"), Name(attribute)));
}

Expression& Expression::RequireAbsent(std::string_view attribute) {
  return Require(fmt::format(FMT_COMPILE("attribute_not_exists({})"), Name(attribute)));
}

bool Expression::changes_anything() const {
  return !sets_.empty() || !adds_.empty() || !deletes_.empty() || !removes_.empty();
}

std::string Expression::update() const {
  std::string text;
  AppendClause(text, "SET", sets_);
  AppendClause(text, "ADD", adds_);
  AppendClause(text, "DELETE", deletes_);
  AppendClause(text, "REMOVE", removes_);
  return text;
}

void Expression::AppendTo(std::string& body) const {
  if (changes_anything()) {
    body += R"(,"UpdateExpression":)";
    AppendJson(body, std::string_view(update()));
  }
  if (!conditions_.empty()) {
    body += R"(,"ConditionExpression":)";
    AppendJson(body, std::string_view(conditions_));
  }
  const auto out = std::back_inserter(body);
  if (!names_.empty()) {
    body += R"(,"ExpressionAttributeNames":{)";
    for (std::size_t i = 0; i < names_.size(); ++i) {
      fmt::format_to(out, FMT_COMPILE(R"({}"#{}":)"), i > 0 ? "," : "", i);
      AppendJson(body, std::string_view(names_[i]));
    }
    body += '}';
  }
  if (values_.empty()) return;
  body += R"(,"ExpressionAttributeValues":{)";
  for (std::size_t i = 0; i < values_.size(); ++i) {
    fmt::format_to(out, FMT_COMPILE(R"({}":{}":)"), i > 0 ? "," : "", i);
    AppendJson(body, values_[i]);
  }
  body += '}';
}

}  // namespace weir::dynamo
