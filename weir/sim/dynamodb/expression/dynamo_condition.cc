#include "weir/sim/dynamodb/expression/dynamo_condition.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

namespace weir::sim {
namespace {

using Kind = Condition::Kind;

struct Comparator {
  std::string_view symbol;
  Kind kind;
};

constexpr std::array<Comparator, 6> kComparators = {{{"=", Kind::kEqual},
                                                     {"<>", Kind::kNotEqual},
                                                     {"<", Kind::kLess},
                                                     {"<=", Kind::kLessOrEqual},
                                                     {">", Kind::kGreater},
                                                     {">=", Kind::kGreaterOrEqual}}};

struct Function {
  std::string_view name;
  Kind kind;
  std::size_t operands;
};

constexpr std::array<Function, 5> kFunctions = {{{"attribute_exists", Kind::kExists, 1},
                                                 {"attribute_not_exists", Kind::kNotExists, 1},
                                                 {"attribute_type", Kind::kType, 2},
                                                 {"begins_with", Kind::kBeginsWith, 2},
                                                 {"contains", Kind::kContains, 2}}};

constexpr std::size_t kMaxIn = 100;

/// Returns the operand if it is a value of the request, otherwise null.
const Value* Given(const Operand& operand) { return std::get_if<Value>(&operand.of); }

const Path* PlainPath(const Operand& operand) {
  return operand.size ? nullptr : std::get_if<Path>(&operand.of);
}

bool IsOrdered(ValueType type) {
  return type == ValueType::kString || type == ValueType::kNumber || type == ValueType::kBinary;
}

/// Returns nothing for values of two types, and for types without an order.
std::optional<std::strong_ordering> Order(const Value& a, const Value& b) {
  if (a.type() != b.type() || !IsOrdered(a.type())) return std::nullopt;
  if (const auto* text = a.As<std::string>()) return *text <=> *b.As<std::string>();
  if (const auto* bytes = a.As<Value::Binary>()) return *bytes <=> *b.As<Value::Binary>();
  return *a.As<Decimal>() <=> *b.As<Decimal>();
}

// A recursive-descent parser: OR of ANDs of NOTs of primaries. A primary is an expression in
// parentheses, a function or a comparison.
class ConditionParser {
 public:
  explicit ConditionParser(ExpressionReader& reader) : reader_(reader) {}

  Result<Condition> ParseOr() {
    return ParseChain("OR", Kind::kOr, [this] { return ParseAnd(); });
  }

 private:
  Result<Condition> ParseAnd() {
    return ParseChain("AND", Kind::kAnd, [this] { return ParseNot(); });
  }

  template <class ParsePart>
  Result<Condition> ParseChain(std::string_view word, Kind kind, ParsePart parse_part) {
    WEIR_ASSIGN_OR_RETURN(Condition first, parse_part());
    if (!reader_.At(word)) return first;
    Condition chain{.kind = kind, .parts = {}, .operands = {}};
    chain.parts.push_back(std::move(first));
    while (reader_.Take(word)) {
      WEIR_RETURN_IF_ERROR(reader_.CountOperator());
      WEIR_ASSIGN_OR_RETURN(chain.parts.emplace_back(), parse_part());
    }
    return chain;
  }

  Result<Condition> ParseNot() {
    if (!reader_.Take("NOT")) return ParsePrimary();
    WEIR_RETURN_IF_ERROR(reader_.CountOperator());
    Condition negated{.kind = Kind::kNot, .parts = {}, .operands = {}};
    WEIR_ASSIGN_OR_RETURN(negated.parts.emplace_back(), ParsePrimary());
    return negated;
  }

  Result<Condition> ParsePrimary() {
    if (reader_.Take("(")) {
      WEIR_ASSIGN_OR_RETURN(Condition inner, ParseOr());
      WEIR_RETURN_IF_ERROR(reader_.Expect(")"));
      if (std::exchange(inner.in_parentheses, true)) {
        return reader_.Invalid("The expression has redundant parentheses;");
      }
      return inner;
    }
    if (reader_.AtFunction() && !reader_.At("size")) return ParseFunction();
    return ParseComparison();
  }

  Result<Condition> ParseFunction() {
    const std::string name(reader_.token());
    const auto* function = std::ranges::find(kFunctions, name, &Function::name);
    if (function == kFunctions.end()) {
      return reader_.Invalid("Invalid function name; function: " + name);
    }
    WEIR_RETURN_IF_ERROR(reader_.CountOperator());
    reader_.Next();
    Condition condition{.kind = function->kind, .parts = {}, .operands = {}};
    WEIR_RETURN_IF_ERROR(ParseList(condition.operands));
    if (condition.operands.size() != function->operands) {
      return reader_.Invalid(
          "Incorrect number of operands for operator or function; operator or function: " + name +
          ", number of operands: " + std::to_string(condition.operands.size()));
    }
    WEIR_RETURN_IF_ERROR(CheckFunction(condition, name));
    return condition;
  }

  /// Parses operands in parentheses.
  Status ParseList(std::vector<Operand>& operands) {
    WEIR_RETURN_IF_ERROR(reader_.Expect("("));
    do {
      WEIR_ASSIGN_OR_RETURN(operands.emplace_back(), ParseOperand());
    } while (reader_.Take(","));
    return reader_.Expect(")");
  }

  Result<Condition> ParseComparison() {
    Condition condition;
    WEIR_ASSIGN_OR_RETURN(condition.operands.emplace_back(), ParseOperand());
    WEIR_RETURN_IF_ERROR(reader_.CountOperator());
    const std::string symbol(reader_.token());
    const auto* comparator = std::ranges::find(kComparators, symbol, &Comparator::symbol);
    if (comparator != kComparators.end()) {
      reader_.Next();
      condition.kind = comparator->kind;
      WEIR_ASSIGN_OR_RETURN(condition.operands.emplace_back(), ParseOperand());
    } else if (reader_.Take("BETWEEN")) {
      condition.kind = Kind::kBetween;
      WEIR_ASSIGN_OR_RETURN(condition.operands.emplace_back(), ParseOperand());
      WEIR_RETURN_IF_ERROR(reader_.Expect("AND"));
      WEIR_ASSIGN_OR_RETURN(condition.operands.emplace_back(), ParseOperand());
    } else if (reader_.Take("IN")) {
      condition.kind = Kind::kIn;
      WEIR_RETURN_IF_ERROR(ParseList(condition.operands));
    } else {
      return reader_.SyntaxError();
    }
    WEIR_RETURN_IF_ERROR(CheckComparison(condition, symbol));
    return condition;
  }

  Result<Operand> ParseOperand() {
    if (reader_.AtFunction()) {
      const std::string name(reader_.token());
      if (name != "size") {
        return reader_.Invalid(
            "The function is not allowed to be used this way in an expression; function: " + name);
      }
      WEIR_RETURN_IF_ERROR(reader_.CountOperator());
      reader_.Next();
      WEIR_RETURN_IF_ERROR(reader_.Expect("("));
      WEIR_ASSIGN_OR_RETURN(Path path, reader_.ReadPath());
      WEIR_RETURN_IF_ERROR(reader_.Expect(")"));
      return Operand{.of = std::move(path), .size = true};
    }
    if (reader_.kind() == ExpressionReader::Kind::kValue) {
      WEIR_ASSIGN_OR_RETURN(Value value, reader_.ReadValue());
      return Operand{.of = std::move(value)};
    }
    WEIR_ASSIGN_OR_RETURN(Path path, reader_.ReadPath());
    return Operand{.of = std::move(path)};
  }

  // Checks the operands of a function as AWS does before it reads an item. `name` is the
  // function's.
  Status CheckFunction(const Condition& condition, const std::string& name) const {
    if (condition.kind == Kind::kBeginsWith) {
      for (const Operand& operand : condition.operands) {
        const Value* given = Given(operand);
        if (operand.size) return WrongType(name, "N");
        if (given != nullptr && given->type() != ValueType::kString) {
          return WrongType(name, Name(given->type()));
        }
      }
      return CheckDistinct(condition, name);
    }
    if (PlainPath(condition.operands[0]) == nullptr) {
      return reader_.Invalid(
          "Operator or function requires a document path; operator or function: " + name);
    }
    if (condition.kind != Kind::kType) return CheckDistinct(condition, name);
    const Value* type = Given(condition.operands[1]);
    if (type == nullptr || type->type() != ValueType::kString) {
      return WrongType(name, type == nullptr ? "{S}" : Name(type->type()));
    }
    return {};
  }

  Status CheckComparison(const Condition& condition, const std::string& symbol) const {
    const auto& operands = condition.operands;
    if (condition.kind == Kind::kIn && operands.size() > kMaxIn + 1) {
      return reader_.Invalid(
          "The IN operator is provided with too many operands; number of "
          "operands: " +
          std::to_string(operands.size()));
    }
    const bool ordered = condition.kind != Kind::kEqual && condition.kind != Kind::kNotEqual &&
                         condition.kind != Kind::kIn;
    for (const Operand& operand : operands) {
      const Value* given = Given(operand);
      if (ordered && given != nullptr && !IsOrdered(given->type())) {
        return WrongType(symbol, Name(given->type()));
      }
    }
    if (condition.kind == Kind::kBetween) return CheckBounds(operands);
    return CheckDistinct(condition, symbol);
  }

  Status CheckBounds(const std::vector<Operand>& operands) const {
    const Value* low = Given(operands[1]);
    const Value* high = Given(operands[2]);
    if (low == nullptr || high == nullptr) return {};
    const auto order = Order(*low, *high);
    if (!order) {
      return reader_.Invalid(
          "The BETWEEN operator requires same data type for lower and upper bounds;");
    }
    if (*order > 0) {
      return reader_.Invalid(
          "The BETWEEN operator requires upper bound to be greater than or equal to lower bound;");
    }
    return {};
  }

  Status CheckDistinct(const Condition& condition, const std::string& name) const {
    if (condition.operands.size() != 2) return {};
    const Path* first = PlainPath(condition.operands[0]);
    const Path* second = PlainPath(condition.operands[1]);
    if (first == nullptr || second == nullptr || *first != *second) return {};
    return reader_.Invalid(
        "The first operand must be distinct from the remaining operands for this operator or "
        "function; operator: " +
        name + ", first operand: " + ToString(*first));
  }

  tl::unexpected<Error> WrongType(const std::string& name, std::string_view type) const {
    return reader_.Invalid(
        "Incorrect operand type for operator or function; operator or function: " + name +
        ", operand type: " + std::string(type));
  }

  ExpressionReader& reader_;
};

}  // namespace

Result<Condition> ParseCondition(std::string_view what, std::string_view text,
                                 Placeholders& placeholders) {
  ExpressionReader reader(what, text, placeholders);
  WEIR_RETURN_IF_ERROR(reader.CheckSize());
  WEIR_ASSIGN_OR_RETURN(Condition condition, ConditionParser(reader).ParseOr());
  if (reader.kind() != ExpressionReader::Kind::kEnd) return reader.SyntaxError();
  return condition;
}

}  // namespace weir::sim
