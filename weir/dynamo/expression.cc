#include "weir/dynamo/expression.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace weir::dynamo {
namespace {

// The place of an element, which is appended where it is not there yet.
template <class T>
std::ptrdiff_t PlaceOf(std::vector<T>& known, T element) {
  const auto found = std::ranges::find(known, element);
  const std::ptrdiff_t place = found - known.begin();
  if (found == known.end()) known.push_back(std::move(element));
  return place;
}

void AppendClause(std::string& text, std::string_view word, const std::vector<std::string>& parts) {
  if (parts.empty()) return;
  if (!text.empty()) text += ' ';
  text += fmt::format("{} {}", word, fmt::join(parts, ", "));
}

}  // namespace

std::string Expression::Name(std::string_view attribute) {
  return fmt::format("#{}", PlaceOf(names_, std::string(attribute)));
}

std::string Expression::Of(Value value) {
  return fmt::format(":{}", PlaceOf(values_, std::move(value)));
}

Expression& Expression::Set(std::string_view attribute, Value value) {
  sets_.push_back(fmt::format("{} = {}", Name(attribute), Of(std::move(value))));
  return *this;
}

Expression& Expression::Add(std::string_view attribute, std::int64_t number) {
  adds_.push_back(fmt::format("{} {}", Name(attribute), Of(dynamo::Of(number))));
  return *this;
}

Expression& Expression::Add(std::string_view attribute, StringSet members) {
  adds_.push_back(fmt::format("{} {}", Name(attribute), Of({std::move(members)})));
  return *this;
}

Expression& Expression::Delete(std::string_view attribute, StringSet members) {
  deletes_.push_back(fmt::format("{} {}", Name(attribute), Of({std::move(members)})));
  return *this;
}

Expression& Expression::Remove(std::string_view attribute) {
  removes_.push_back(Name(attribute));
  return *this;
}

Expression& Expression::Require(std::string condition) {
  conditions_.push_back(std::move(condition));
  return *this;
}

Expression& Expression::Require(std::string_view attribute, std::string_view comparison,
                                std::int64_t number) {
  return Require(fmt::format("{} {} {}", Name(attribute), comparison, Of(dynamo::Of(number))));
}

Expression& Expression::RequireEqual(std::string_view attribute, Value value) {
  return Require(fmt::format("{} = {}", Name(attribute), Of(std::move(value))));
}

Expression& Expression::RequireSame(std::string_view attribute, const std::optional<Value>& seen) {
  return seen ? RequireEqual(attribute, *seen) : RequireAbsent(attribute);
}

Expression& Expression::RequireExists(std::string_view attribute) {
  return Require(fmt::format("attribute_exists({})", Name(attribute)));
}

Expression& Expression::RequireAbsent(std::string_view attribute) {
  return Require(fmt::format("attribute_not_exists({})", Name(attribute)));
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
    AppendJson(body, update());
  }
  if (!conditions_.empty()) {
    body += R"(,"ConditionExpression":)";
    AppendJson(body, fmt::format("{}", fmt::join(conditions_, " AND ")));
  }
  if (!names_.empty()) {
    body += R"(,"ExpressionAttributeNames":{)";
    for (std::size_t i = 0; i < names_.size(); ++i) {
      body += fmt::format(R"({}"#{}":)", i > 0 ? "," : "", i);
      AppendJson(body, std::string_view(names_[i]));
    }
    body += '}';
  }
  if (values_.empty()) return;
  body += R"(,"ExpressionAttributeValues":{)";
  for (std::size_t i = 0; i < values_.size(); ++i) {
    body += fmt::format(R"({}":{}":)", i > 0 ? "," : "", i);
    AppendJson(body, values_[i]);
  }
  body += '}';
}

}  // namespace weir::dynamo
