// Condition, filter and key condition expressions.
#pragma once

#include <string_view>
#include <variant>
#include <vector>

#include "weir/base/result.h"
#include "weir/sim/dynamo_expression.h"
#include "weir/sim/dynamo_path.h"
#include "weir/sim/dynamo_value.h"

namespace weir::sim {

/// What a comparison looks at: a place in the item, its size, or a value of the request.
struct Operand {
  std::variant<Path, Value> of;
  bool size = false;
};

/// A parsed expression: a tree whose leaves have operands. A value.
struct Condition {
  enum class Kind {
    kAnd,
    kOr,
    kNot,
    kEqual,
    kNotEqual,
    kLess,
    kLessOrEqual,
    kGreater,
    kGreaterOrEqual,
    kBetween,
    kIn,
    kExists,
    kNotExists,
    kType,
    kBeginsWith,
    kContains,
  };
  Kind kind = Kind::kAnd;
  std::vector<Condition> parts;
  std::vector<Operand> operands;
  bool in_parentheses = false;
};

/// Parses the text of the request's field `what`: "ConditionExpression". Operands in parentheses,
/// and the size of a value that the request brings, are not simulated and refused.
Result<Condition> ParseCondition(std::string_view what, std::string_view text,
                                 Placeholders& placeholders);

/// Whether an item (an empty one: none is there) satisfies the condition. Comparing what is missing
/// or of two types is false, and true for <>.
bool Holds(const Condition& condition, const Item& item);

/// Every path in it, also more than once.
std::vector<Path> PathsIn(const Condition& condition);

}  // namespace weir::sim
