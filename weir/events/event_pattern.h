// Conditions on events: EventBridge's event patterns and rate-limiter-py's predicates.
//
// Patterns are those of the Amazon EventBridge User Guide, "Creating event patterns" and
// "Comparison operators". All fields of a pattern must match; a field matches if one of the tests
// in its list passes. A path that leads through a list leads to each of its elements, and matches
// if one of them matches; fields that are nested below one key are looked up in the same element.
// Values are plain: an object or an empty list is not a value, so `exists` is false for it. Numbers
// are compared as doubles, independent of their notation; letters are folded in ASCII only.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "weir/base/result.h"

namespace weir {

/// Names of nested members, the outermost first. "detail.state" has two.
using EventPath = std::vector<std::string>;

/// Splits the text at its dots. Fails with kInvalidArgument if a name is empty.
Result<EventPath> ParseEventPath(std::string_view text);

/// null, a boolean, a number or a string.
using PlainValue = std::variant<std::monostate, bool, double, std::string>;

struct EqualsTest {
  PlainValue value;
};

/// Passes for strings only.
struct TextTest {
  enum class Kind { kPrefix, kSuffix, kEqualsIgnoreCase, kWildcard };
  Kind kind;
  std::string text;  ///< for kWildcard: '*' is any text, "\*" and "\\" are the characters
};

struct ExistsTest {
  bool wanted;
};

/// Passes for numbers only, if all bounds hold.
struct NumericTest {
  struct Bound {
    enum class Operator { kEqual, kBelow, kAtMost, kAbove, kAtLeast };
    Operator op;
    double number;
  };
  std::vector<Bound> bounds;
};

/// Passes if a value exists and none of these tests passes.
struct AnythingButTest {
  std::vector<std::variant<EqualsTest, TextTest>> none_of;
};

using ValueTest = std::variant<EqualsTest, TextTest, ExistsTest, NumericTest, AnythingButTest>;

/// A condition on a part of an event. If `any_of` is not empty, the part must be a value that
/// passes one of these tests, or be absent if an ExistsTest wants no value; the other two lists are
/// not used. Otherwise the part must match all of `all_of` and, if `one_of` (`$or`) is not empty,
/// one of `one_of`.
struct EventPattern {
  EventPath path;  ///< from the outer part to this one; empty: the same part
  std::vector<ValueTest> any_of;
  std::vector<EventPattern> all_of;
  std::vector<EventPattern> one_of;
};

/// Returns whether the event matches the pattern.
bool Matches(const EventPattern& pattern, const nlohmann::json& event);

/// A combination of predicates as in rate-limiter-py's code (its documentation differs): if `own`
/// matches, all of `all_of` must hold too; if it does not match, one of `any_of` suffices. Unlike
/// in rate-limiter-py, null, false, 0 and empty strings are values like any other.
struct EventPredicate {
  EventPattern own;
  std::vector<EventPredicate> all_of;
  std::vector<EventPredicate> any_of;
};

/// Returns whether the predicate holds for the event.
bool Holds(const EventPredicate& predicate, const nlohmann::json& event);

}  // namespace weir
