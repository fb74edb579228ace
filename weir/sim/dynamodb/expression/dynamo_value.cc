#include "weir/sim/dynamodb/expression/dynamo_value.h"

#include <absl/strings/escaping.h>

#include <array>
#include <nlohmann/json.hpp>

namespace weir::sim {
namespace {

using nlohmann::json;

constexpr std::array<std::string_view, 9> kNames = {"S", "N",  "BOOL", "NULL", "M",
                                                    "L", "SS", "NS",   "B"};

Result<Value> ReadNumber(const json& from) {
  if (!from.is_string()) return BadRequest("N must be a string that holds a number");
  WEIR_ASSIGN_OR_RETURN(Decimal number, Decimal::Parse(from.get_ref<const std::string&>()));
  return Value(number);
}

Result<Value> ReadList(const json& from) {
  if (!from.is_array()) return BadRequest("L must be a list");
  Value::List list;
  for (const auto& element : from) {
    WEIR_ASSIGN_OR_RETURN(Value value, ReadValue(element));
    list.push_back(std::move(value));
  }
  return Value(std::move(list));
}

Result<std::string> ReadElement(const json& from, const std::string*) {
  return from.get<std::string>();
}

Result<Decimal> ReadElement(const json& from, const Decimal*) {
  return Decimal::Parse(from.get_ref<const std::string&>());
}

template <class Set>
Result<Value> ReadSet(const json& from) {
  if (!from.is_array() || from.empty()) {
    return BadRequest(
        "One or more parameter values were invalid: An set of values may not be empty");
  }
  Set set;
  for (const auto& element : from) {
    if (!element.is_string()) return BadRequest("the elements of a set must be strings");
    WEIR_ASSIGN_OR_RETURN(auto read,
                          ReadElement(element, static_cast<typename Set::value_type*>(nullptr)));
    if (!set.insert(std::move(read)).second) {
      return BadRequest(
          "One or more parameter values were invalid: Input collection contains duplicates.");
    }
  }
  return Value(std::move(set));
}

Result<Value> ReadNull(const json& from) {
  if (!from.is_boolean() || !from.get<bool>()) {
    return BadRequest(
        "One or more parameter values were invalid: Null attribute value types must have the value "
        "of true");
  }
  return Value(Value::Null{});
}

Result<Value> ReadBinary(const json& from) {
  Value::Binary binary;
  if (!from.is_string() ||
      !absl::Base64Unescape(from.get_ref<const std::string&>(), &binary.bytes)) {
    return BadRequest("B must be a string in Base64");
  }
  return Value(std::move(binary));
}

Result<Value> ReadTyped(const std::string& type, const json& content) {
  if (type == "S") {
    if (!content.is_string()) return BadRequest("S must be a string");
    return Value(content.get<std::string>());
  }
  if (type == "N") return ReadNumber(content);
  if (type == "BOOL") {
    if (!content.is_boolean()) return BadRequest("BOOL must be true or false");
    return Value(content.get<bool>());
  }
  if (type == "NULL") return ReadNull(content);
  if (type == "B") return ReadBinary(content);
  if (type == "L") return ReadList(content);
  if (type == "SS") return ReadSet<Value::StringSet>(content);
  if (type == "NS") return ReadSet<Value::NumberSet>(content);
  if (type == "M") {
    WEIR_ASSIGN_OR_RETURN(Item map, ReadItem(content));
    return Value(std::move(map));
  }
  return BadRequest("not simulated: attribute values of type " + type);
}

struct Writer {
  json operator()(const std::string& text) const { return text; }
  json operator()(const Decimal& number) const { return number.ToString(); }
  json operator()(const Value::Binary& binary) const { return absl::Base64Escape(binary.bytes); }
  json operator()(bool value) const { return value; }
  json operator()(Value::Null) const { return true; }
  json operator()(const Item& map) const { return WriteItem(map); }
  json operator()(const Value::StringSet& set) const { return set; }
  json operator()(const Value::List& list) const {
    json array = json::array();
    for (const Value& value : list) array.push_back(WriteValue(value));
    return array;
  }
  json operator()(const Value::NumberSet& set) const {
    json array = json::array();
    for (const Decimal& number : set) array.push_back(number.ToString());
    return array;
  }
};

struct Sizer {
  std::size_t operator()(const std::string& text) const { return text.size(); }
  std::size_t operator()(const Decimal& number) const { return number.Size(); }
  std::size_t operator()(const Value::Binary& binary) const { return binary.bytes.size(); }
  std::size_t operator()(bool) const { return 1; }
  std::size_t operator()(Value::Null) const { return 1; }
  std::size_t operator()(const Item& map) const { return 3 + map.size() + SizeOf(map); }
  std::size_t operator()(const Value::List& list) const {
    std::size_t size = 3 + list.size();
    for (const Value& value : list) size += SizeOf(value);
    return size;
  }
  std::size_t operator()(const Value::StringSet& set) const {
    std::size_t size = 0;
    for (const std::string& text : set) size += text.size();
    return size;
  }
  std::size_t operator()(const Value::NumberSet& set) const {
    std::size_t size = 0;
    for (const Decimal& number : set) size += number.Size();
    return size;
  }
};

}  // namespace

std::string_view Name(ValueType type) { return kNames[static_cast<std::size_t>(type)]; }

bool operator==(const Value& a, const Value& b) { return a.content == b.content; }

Result<Value> ReadValue(const json& from) {
  if (!from.is_object() || from.empty()) {
    return BadRequest(
        "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes");
  }
  if (from.size() > 1) {
    return BadRequest(
        "Supplied AttributeValue has more than one datatypes set, must contain exactly one of the "
        "supported datatypes");
  }
  return ReadTyped(from.begin().key(), from.begin().value());
}

json WriteValue(const Value& value) {
  json written = json::object();
  written[std::string(Name(value.type()))] = std::visit(Writer{}, value.content);
  return written;
}

Result<Item> ReadItem(const json& from) {
  if (!from.is_object()) return BadRequest("attributes must be an object, each by its name");
  Item item;
  for (const auto& [name, content] : from.items()) {
    WEIR_ASSIGN_OR_RETURN(Value value, ReadValue(content));
    item.emplace(name, std::move(value));
  }
  return item;
}

json WriteItem(const Item& item) {
  json written = json::object();
  for (const auto& [name, value] : item) written[name] = WriteValue(value);
  return written;
}

std::size_t SizeOf(const Value& value) { return std::visit(Sizer{}, value.content); }

std::size_t SizeOf(const Item& item) {
  std::size_t size = 0;
  for (const auto& [name, value] : item) size += name.size() + SizeOf(value);
  return size;
}

}  // namespace weir::sim
