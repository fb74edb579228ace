#include "weir/sim/dynamodb/expression/dynamo_condition_eval.h"

#include <algorithm>
#include <compare>
#include <functional>
#include <optional>
#include <string>

namespace weir::sim {
namespace {

using Kind = Condition::Kind;

struct Length {
  std::optional<std::size_t> operator()(const std::string& text) const {
    // DynamoDB counts characters, not bytes: continuation bytes are skipped.
    const auto starts = [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; };
    return static_cast<std::size_t>(std::ranges::count_if(text, starts));
  }
  std::optional<std::size_t> operator()(const Decimal&) const { return std::nullopt; }
  std::optional<std::size_t> operator()(const Value::Binary& binary) const {
    return binary.bytes.size();
  }
  std::optional<std::size_t> operator()(bool) const { return std::nullopt; }
  std::optional<std::size_t> operator()(Value::Null) const { return std::nullopt; }
  template <class Container>
  std::optional<std::size_t> operator()(const Container& container) const {
    return container.size();
  }
};

/// Returns nothing if the item has no such value, or a value without a size.
std::optional<Value> Resolve(const Operand& operand, const Item& item) {
  if (const auto* given = std::get_if<Value>(&operand.of)) return *given;
  const Value* found = Find(item, std::get<Path>(operand.of));
  if (found == nullptr) return std::nullopt;
  if (!operand.size) return *found;
  const auto length = std::visit(Length{}, found->content);
  if (!length) return std::nullopt;
  return Value(Decimal(static_cast<std::int64_t>(*length)));
}

/// Returns whether both have one type with an order and `test` accepts their order.
template <class Test>
bool Ordered(const std::optional<Value>& a, const std::optional<Value>& b, Test test) {
  if (!a || !b || a->type() != b->type()) return false;
  if (const auto* text = a->As<std::string>()) return test(*text <=> *b->As<std::string>());
  if (const auto* number = a->As<Decimal>()) return test(*number <=> *b->As<Decimal>());
  if (const auto* bytes = a->As<Value::Binary>()) return test(*bytes <=> *b->As<Value::Binary>());
  return false;
}

bool Equal(const std::optional<Value>& a, const std::optional<Value>& b) {
  return a && b && *a == *b;
}

bool BeginsWith(const std::optional<Value>& whole, const std::optional<Value>& start) {
  if (!whole || !start) return false;
  const auto* text = whole->As<std::string>();
  const auto* prefix = start->As<std::string>();
  return text != nullptr && prefix != nullptr && text->starts_with(*prefix);
}

bool Contains(const std::optional<Value>& whole, const std::optional<Value>& part) {
  if (!whole || !part) return false;
  if (const auto* list = whole->As<Value::List>()) return std::ranges::count(*list, *part) > 0;
  if (const auto* word = part->As<std::string>()) {
    if (const auto* text = whole->As<std::string>()) return text->find(*word) != text->npos;
    if (const auto* set = whole->As<Value::StringSet>()) return set->contains(*word);
  }
  const auto* set = whole->As<Value::NumberSet>();
  const auto* number = part->As<Decimal>();
  return set != nullptr && number != nullptr && set->contains(*number);
}

bool HoldsLeaf(Kind kind, const std::vector<std::optional<Value>>& values) {
  const auto& first = values[0];
  const auto ordered = [&](std::size_t with, auto test) {
    return Ordered(first, values[with], test);
  };
  switch (kind) {
    case Kind::kEqual:
      return Equal(first, values[1]);
    case Kind::kNotEqual:
      return !Equal(first, values[1]);
    case Kind::kLess:
      return ordered(1, [](auto o) { return o < 0; });
    case Kind::kLessOrEqual:
      return ordered(1, [](auto o) { return o <= 0; });
    case Kind::kGreater:
      return ordered(1, [](auto o) { return o > 0; });
    case Kind::kGreaterOrEqual:
      return ordered(1, [](auto o) { return o >= 0; });
    case Kind::kBetween:
      return ordered(1, [](auto o) { return o >= 0; }) && ordered(2, [](auto o) { return o <= 0; });
    case Kind::kIn:
      return std::any_of(values.begin() + 1, values.end(),
                         [&](const auto& one) { return Equal(first, one); });
    case Kind::kExists:
      return first.has_value();
    case Kind::kNotExists:
      return !first.has_value();
    case Kind::kType:
      return first && Name(first->type()) == *values[1]->As<std::string>();
    case Kind::kBeginsWith:
      return BeginsWith(first, values[1]);
    case Kind::kContains:
      return Contains(first, values[1]);
    case Kind::kAnd:
    case Kind::kOr:
    case Kind::kNot:
      break;
  }
  return false;
}

}  // namespace

bool Holds(const Condition& condition, const Item& item) {
  const auto holds = [&](const Condition& part) { return Holds(part, item); };
  switch (condition.kind) {
    case Kind::kAnd:
      return std::ranges::all_of(condition.parts, holds);
    case Kind::kOr:
      return std::ranges::any_of(condition.parts, holds);
    case Kind::kNot:
      return !holds(condition.parts[0]);
    default:
      break;
  }
  std::vector<std::optional<Value>> values;
  values.reserve(condition.operands.size());
  for (const Operand& operand : condition.operands) values.push_back(Resolve(operand, item));
  return HoldsLeaf(condition.kind, values);
}

std::vector<Path> PathsIn(const Condition& condition) {
  std::vector<Path> paths;
  for (const Operand& operand : condition.operands) {
    if (const auto* path = std::get_if<Path>(&operand.of)) paths.push_back(*path);
  }
  for (const Condition& part : condition.parts) {
    std::ranges::move(PathsIn(part), std::back_inserter(paths));
  }
  return paths;
}

}  // namespace weir::sim
