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
#include "weir/sim/dynamo_decimal.h"

namespace weir::sim {

/// The types of the wire, BS excepted.
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

/// "S", "N", "BOOL", "NULL", "M", "L", "SS", "NS", "B".
std::string_view Name(ValueType type);

struct Value;
/// An item by attribute name; also what is inside an attribute of type M.
using Item = std::map<std::string, Value, std::less<>>;

/// An attribute value. Compares equal where DynamoDB's `=` holds.
struct Value {
  using Null = std::monostate;
  using List = std::vector<Value>;
  using StringSet = std::set<std::string>;
  using NumberSet = std::set<Decimal>;
  /// Not Base64.
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

/// What is wrong with a request, in AWS's words.
inline tl::unexpected<Error> BadRequest(std::string message) {
  return Fail(Code::kInvalidArgument, std::move(message));
}

/// Reads {"S": "text"} and its kin. kInvalidArgument, with AWS's words, for what is not one.
Result<Value> ReadValue(const nlohmann::json& json);
nlohmann::json WriteValue(const Value& value);
Result<Item> ReadItem(const nlohmann::json& json);
nlohmann::json WriteItem(const Item& item);

/// What AWS counts for limits and bills: names and contents, 3 bytes for a map or list and 1 more
/// for each element. (AWS: "DynamoDB item sizes and formats".)
std::size_t SizeOf(const Value& value);
std::size_t SizeOf(const Item& item);

}  // namespace weir::sim
