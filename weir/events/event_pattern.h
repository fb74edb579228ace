// What an event must be like: EventBridge's content patterns and rate-limiter-py's predicates, as
// values.
//
// Patterns are those of the Amazon EventBridge User Guide, "Creating event patterns" and
// "Comparison operators". All fields of a pattern must match; of the tests in one list, one. A path
// that leads through a list leads to each of its elements, and matches where one does; fields that
// are nested below one key are looked for in the same element. Values are plain: an object or an
// empty list is none, so `exists` is false of it. Numbers are compared as doubles, whatever way
// they are written; letters are folded in ASCII only.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "weir/base/result.h"

namespace weir {

/// Names of members, from the outside in. "detail.state" is two of them.
using EventPath = std::vector<std::string>;

/// kInvalidArgument where a part between the dots is empty.
Result<EventPath> ParseEventPath(std::string_view text);

/// null, a truth, a number, a text.
using PlainValue = std::variant<std::monostate, bool, double, std::string>;

struct EqualsTest {
  PlainValue value;
};

/// Of texts only.
struct TextTest {
  enum class Kind { kPrefix, kSuffix, kEqualsIgnoreCase, kWildcard };
  Kind kind;
  std::string text;  ///< of a wildcard: '*' is any text, "\*" and "\\" the characters themselves
};

struct ExistsTest {
  bool wanted;
};

/// Of numbers only: all bounds hold.
struct NumericTest {
  struct Bound {
    enum class Operator { kEqual, kBelow, kAtMost, kAbove, kAtLeast };
    Operator op;
    double number;
  };
  std::vector<Bound> bounds;
};

/// A value is there, and none of these holds.
struct AnythingButTest {
  std::vector<std::variant<EqualsTest, TextTest>> none_of;
};

using ValueTest = std::variant<EqualsTest, TextTest, ExistsTest, NumericTest, AnythingButTest>;

/// What a part of an event must be like.
struct EventPattern {
  EventPath path;                    ///< from the part above to this one; empty: the same
  std::vector<ValueTest> any_of;     ///< where not empty: a value that passes one of these
  std::vector<EventPattern> all_of;  ///< of this part
  std::vector<EventPattern> one_of;  ///< of this part, where not empty: `$or`
};

bool Matches(const EventPattern& pattern, const nlohmann::json& event);

/// rate-limiter-py's combination of predicates, as its code has it (its documentation differs):
/// where `own` matches, all of `all_of` must hold too; where it does not, one of `any_of` suffices.
/// Unlike there, null, false, 0 and empty texts are values like any other.
struct EventPredicate {
  EventPattern own;
  std::vector<EventPredicate> all_of;
  std::vector<EventPredicate> any_of;
};

bool Holds(const EventPredicate& predicate, const nlohmann::json& event);

}  // namespace weir
