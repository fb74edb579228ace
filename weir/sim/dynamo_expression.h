// What all expressions of DynamoDB share: placeholders, tokens, document paths.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weir/base/result.h"
#include "weir/sim/dynamo_path.h"
#include "weir/sim/dynamo_value.h"

namespace weir::sim {

/// ExpressionAttributeNames and ExpressionAttributeValues of one request, and which of them its
/// expressions used.
class Placeholders {
 public:
  /// Names with their '#', values with their ':'.
  Placeholders(std::map<std::string, std::string> names, Item values)
      : names_(std::move(names)), values_(std::move(values)) {}

  Result<std::string> NameOf(const std::string& placeholder);
  Result<Value> ValueOf(const std::string& placeholder);
  /// kInvalidArgument, with AWS's words, if some were not used.
  Status CheckAllUsed() const;

 private:
  std::map<std::string, std::string> names_;
  Item values_;
  std::set<std::string> used_;
};

/// Walks through one expression. Messages begin with what it is: "Invalid UpdateExpression: ".
class ExpressionReader {
 public:
  enum class Kind { kEnd, kWord, kName, kValue, kIndex, kSymbol };

  /// `what` names the request's field: "UpdateExpression". All three must outlive this.
  ExpressionReader(std::string_view what, std::string_view text, Placeholders& placeholders);

  /// Not empty and at most 4096 bytes; to be asked first.
  Status CheckSize() const;
  Kind kind() const { return kind_; }
  std::string_view token() const { return token_; }
  void Next();
  /// The token is this symbol, or this word in whatever case.
  bool At(std::string_view token) const;
  /// As At, and goes on if so.
  bool Take(std::string_view token);
  /// The token is a word that an opening parenthesis follows.
  bool AtFunction() const;
  Status Expect(std::string_view token);
  Result<Path> ReadPath();
  /// REQUIRES: kind() is kValue.
  Result<Value> ReadValue();
  /// One more operator or function; kInvalidArgument at the 301st.
  Status CountOperator();

  tl::unexpected<Error> Invalid(const std::string& why) const;
  tl::unexpected<Error> SyntaxError() const;

 private:
  Result<std::string> ReadPathName();

  std::string_view what_;
  std::string_view text_;
  std::string_view rest_;  ///< behind the token
  Placeholders& placeholders_;
  std::string_view token_;
  Kind kind_ = Kind::kEnd;
  int operators_ = 0;
};

/// The paths of a ProjectionExpression.
Result<std::vector<Path>> ParseProjection(std::string_view text, Placeholders& placeholders);
/// Only what the paths name; positions in lists are not simulated.
Result<Item> Project(const Item& item, const std::vector<Path>& paths);

}  // namespace weir::sim
