// DynamoDB's attribute values and items, and their JSON.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "weir/base/result.h"
#include "weir/sim/dynamodb/expression/dynamo_decimal.h"

namespace weir::sim {

/// DynamoDB's types, except binary sets (BS), which are not simulated.
enum class ValueType {
  kString,
  kNumber,
  kBool,
  kNull,
  kMap,
  kList,
  kStringSet,
  kNumberSet,
  kBinary
};

/// Returns "S", "N", "BOOL", "NULL", "M", "L", "SS", "NS", "B".
std::string_view Name(ValueType type);

struct Value;
/// An item, by attribute name; also the content of an attribute of type M.
using Item = std::map<std::string, Value, std::less<>>;

/// An attribute value. Equality follows DynamoDB's `=` operator.
struct Value {
  using Null = std::monostate;
  using List = std::vector<Value>;
  using StringSet = std::set<std::string>;
  using NumberSet = std::set<Decimal>;
  /// The decoded bytes, not Base64.
  struct Binary {
    std::string bytes;

    friend auto operator<=>(const Binary&, const Binary&) = default;
  };
  /// In the order of ValueType.
  using Content =
      std::variant<std::string, Decimal, bool, Null, Item, List, StringSet, NumberSet, Binary>;

  Value() = default;
  template <class T>
    requires std::constructible_from<Content, T>
  explicit Value(T from) : content(std::move(from)) {}

  ValueType type() const { return static_cast<ValueType>(content.index()); }
  template <class T>
  const T* As() const {
    return std::get_if<T>(&content);
  }
  template <class T>
  T* As() {
    return std::get_if<T>(&content);
  }

  friend bool operator==(const Value& a, const Value& b);

  Content content;
};

/// Returns an invalid-request error; `message` is the text that AWS uses.
inline tl::unexpected<Error> BadRequest(std::string message) {
  return Fail(Code::kInvalidArgument, std::move(message));
}

/// Reads an attribute value such as {"S": "text"}. Returns kInvalidArgument, with AWS's message, if
/// it is malformed.
Result<Value> ReadValue(const nlohmann::json& json);
nlohmann::json WriteValue(const Value& value);
Result<Item> ReadItem(const nlohmann::json& json);
nlohmann::json WriteItem(const Item& item);

/// Returns the size that counts towards AWS's limits and billing: the bytes of names and values,
/// plus 3 bytes for each map or list, plus 1 byte for each of their elements. (AWS: "DynamoDB item
/// sizes and formats".)
std::size_t SizeOf(const Value& value);
std::size_t SizeOf(const Item& item);

}  // namespace weir::sim
