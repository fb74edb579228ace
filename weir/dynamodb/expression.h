// The expressions of a write or query, and their numbered placeholders.
//
// Names of limits may contain characters that DynamoDB does not allow in a placeholder, so names
// and values are numbered: #0, #1, ... and :0, :1, ...
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weir/dynamodb/value.h"

namespace weir::dynamo {

/// Collects the parts of one write or query. Conditions are joined by AND. A value object; each
/// name and each value has one placeholder, however often it is used.
class Expression {
 public:
  /// Returns the placeholder of an attribute's name or of a value, for conditions that the caller
  /// writes.
  std::string Name(std::string_view attribute);
  std::string Of(Value value);

  Expression& Set(std::string_view attribute, Value value);
  Expression& Add(std::string_view attribute, std::int64_t number);
  Expression& Add(std::string_view attribute, StringSet members);
  /// Removes members from a set.
  Expression& Delete(std::string_view attribute, StringSet members);
  Expression& Remove(std::string_view attribute);

  Expression& Require(std::string_view condition);
  /// Requires `attribute comparison number`, where comparison is one of = <> < <= > >=.
  Expression& Require(std::string_view attribute, std::string_view comparison, std::int64_t number);
  Expression& RequireEqual(std::string_view attribute, Value value);
  /// Requires the attribute to be as it was seen: with this value, or absent.
  Expression& RequireSame(std::string_view attribute, const std::optional<Value>& seen);
  /// Requires the attribute to be as it is in `seen`, an item that was read.
  Expression& RequireSameAs(const Item& seen, std::string_view attribute);
  Expression& RequireExists(std::string_view attribute);
  Expression& RequireAbsent(std::string_view attribute);

  bool changes_anything() const;
  /// Appends `,"UpdateExpression":...,"ConditionExpression":...,"ExpressionAttributeNames":...,
  /// "ExpressionAttributeValues":...`, without the fields that are empty.
  void AppendTo(std::string& body) const;

 private:
  std::string update() const;

  std::vector<std::string> names_;
  std::vector<Value> values_;
  // The parts of each clause, joined.
  std::string sets_;
  std::string adds_;
  std::string deletes_;
  std::string removes_;
  std::string conditions_;
};

}  // namespace weir::dynamo
