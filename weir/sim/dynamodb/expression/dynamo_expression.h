// The parts that all expressions of DynamoDB share: placeholders, tokens and document paths.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weir/base/result.h"
#include "weir/sim/dynamodb/expression/dynamo_path.h"
#include "weir/sim/dynamodb/expression/dynamo_value.h"

namespace weir::sim {

/// The ExpressionAttributeNames and ExpressionAttributeValues of one request. It records which of
/// them the request's expressions use.
class Placeholders {
 public:
  /// Takes names with their '#' and values with their ':'.
  Placeholders(std::map<std::string, std::string> names, Item values)
      : names_(std::move(names)), values_(std::move(values)) {}

  Result<std::string> NameOf(const std::string& placeholder);
  Result<Value> ValueOf(const std::string& placeholder);
  /// Returns kInvalidArgument, with AWS's message, if some were not used.
  Status CheckAllUsed() const;

 private:
  std::map<std::string, std::string> names_;
  Item values_;
  std::set<std::string> used_;
};

/// Reads the tokens of one expression. Error messages begin with the field's name: "Invalid
/// UpdateExpression: ".
class ExpressionReader {
 public:
  enum class Kind { kEnd, kWord, kName, kValue, kIndex, kSymbol };

  /// `what` is the name of the request's field, such as "UpdateExpression". All three arguments
  /// must outlive the reader.
  ExpressionReader(std::string_view what, std::string_view text, Placeholders& placeholders);

  /// Fails if the expression is empty or longer than 4096 bytes. Call it before the other methods.
  Status CheckSize() const;
  Kind kind() const { return kind_; }
  std::string_view token() const { return token_; }
  // Moves to the next token.
  void Next();
  /// Returns whether the current token is this symbol, or this word in any case.
  bool At(std::string_view token) const;
  /// Like At, but also moves to the next token if the result is true.
  bool Take(std::string_view token);
  /// Returns whether the current token is a word followed by an opening parenthesis.
  bool AtFunction() const;
  /// Skips this token, or returns a syntax error if the current token is another one.
  Status Expect(std::string_view token);
  Result<Path> ReadPath();
  /// REQUIRES: kind() is kValue.
  Result<Value> ReadValue();
  /// Counts one more operator or function. Returns kInvalidArgument at the 301st.
  Status CountOperator();

  tl::unexpected<Error> Invalid(const std::string& why) const;
  tl::unexpected<Error> SyntaxError() const;

 private:
  Result<std::string> ReadPathName();

  std::string_view what_;
  std::string_view text_;
  std::string_view rest_;  ///< the text after the token
  Placeholders& placeholders_;
  std::string_view token_;
  Kind kind_ = Kind::kEnd;
  int operators_ = 0;
};

/// Parses a ProjectionExpression.
Result<std::vector<Path>> ParseProjection(std::string_view text, Placeholders& placeholders);
/// Returns the part of the item that the paths name. Indexes of lists are not simulated and are
/// refused.
Result<Item> Project(const Item& item, const std::vector<Path>& paths);

}  // namespace weir::sim
