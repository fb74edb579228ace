// Condition, filter and key condition expressions.
#pragma once

#include <string_view>
#include <variant>
#include <vector>

#include "weir/base/result.h"
#include "weir/sim/dynamodb/expression/dynamo_expression.h"
#include "weir/sim/dynamodb/expression/dynamo_path.h"
#include "weir/sim/dynamodb/expression/dynamo_value.h"

namespace weir::sim {

/// An operand of a comparison: a path in the item, the size of the value there, or a value of the
/// request.
struct Operand {
  std::variant<Path, Value> of;
  bool size = false;
};

/// A parsed expression: a tree with operands at its leaves.
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

/// Parses the text of the request's field `what`, such as "ConditionExpression". Returns
/// kInvalidArgument, with AWS's message, if the text is malformed, or has operands in parentheses
/// or the size of a value of the request, neither of which is simulated.
Result<Condition> ParseCondition(std::string_view what, std::string_view text,
                                 Placeholders& placeholders);

/// Returns every path in the condition, with repetitions.
std::vector<Path> PathsIn(const Condition& condition);

}  // namespace weir::sim
