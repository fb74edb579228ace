// DynamoDB's attribute values and items, and their JSON.
//
// Format: AWS, "DynamoDB low-level API", data type descriptors. Numbers are sent and stored as
// text, with up to 38 digits.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "weir/codec/json_text.h"

#include "weir/base/result.h"

namespace weir::dynamo {

struct Value;
using Item = std::map<std::string, Value, std::less<>>;

struct Null {
  friend bool operator==(const Null&, const Null&) = default;
};
struct Number {
  std::string text;

  friend bool operator==(const Number&, const Number&) = default;
};
struct StringSet {
  std::vector<std::string> members;  ///< in the order of the response

  friend bool operator==(const StringSet&, const StringSet&) = default;
};
using List = std::vector<Value>;
/// Binary data; Base64 only in JSON.
struct Bytes {
  std::string content;

  friend bool operator==(const Bytes&, const Bytes&) = default;
};
/// A type that no item of Weir has (NS, BS): its JSON, unchanged.
struct Opaque {
  std::string json;

  friend bool operator==(const Opaque&, const Opaque&) = default;
};

struct Value {
  std::variant<Null, bool, std::string, Number, StringSet, List, Item, Bytes, Opaque> held;

  friend bool operator==(const Value&, const Value&);
};

inline bool operator==(const Value& a, const Value& b) { return a.held == b.held; }

Value Of(std::int64_t number);
inline Value Of(int number) { return Of(std::int64_t{number}); }
Value Of(std::string text);
Value Of(std::string_view text);
Value Of(const char* text);
Value Of(bool flag);

/// Each returns the value of the attribute; nothing, or null, if it is absent or of another type. A
/// number with a fraction, or beyond 64 bits, counts as another type. Pointers are valid as long as
/// the item is not changed.
std::optional<std::int64_t> GetNumber(const Item& item, std::string_view name);
const std::string* GetText(const Item& item, std::string_view name);
std::optional<bool> GetFlag(const Item& item, std::string_view name);
const StringSet* GetSet(const Item& item, std::string_view name);
const Item* GetMap(const Item& item, std::string_view name);
const List* GetList(const Item& item, std::string_view name);
const std::string* GetBytes(const Item& item, std::string_view name);

using ::weir::AppendJson;
void AppendJson(std::string& out, const Value& value);
void AppendJson(std::string& out, const Item& item);

}  // namespace weir::dynamo
