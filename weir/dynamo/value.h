// DynamoDB's attribute values and items, and their JSON.
//
// Format: AWS, "DynamoDB low-level API", data type descriptors. Numbers travel as text, with up to
// 38 digits, and are kept as text.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "weir/aws/json_text.h"

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
  std::vector<std::string> members;  ///< in the order in which they came

  friend bool operator==(const StringSet&, const StringSet&) = default;
};
using List = std::vector<Value>;
/// Binary; Base64 in JSON only.
struct Bytes {
  std::string content;

  friend bool operator==(const Bytes&, const Bytes&) = default;
};
/// A kind that no item of ours has (NS, BS): its JSON, as it came.
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

/// What the attribute of that name holds; nothing if it is absent or of another kind. A number with
/// a fraction, or beyond 64 bits, is none.
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
