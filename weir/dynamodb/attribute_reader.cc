#include "weir/dynamodb/attribute_reader.h"

#include <absl/strings/escaping.h>
#include <fmt/format.h>

#include <optional>

namespace weir::dynamo {
namespace {

// The depth of nesting that DynamoDB itself allows.
constexpr int kDeepest = 32;

Value ReadValue(JsonValue json, int depth);

Item ReadFields(JsonObject fields, int depth) {
  Item item;
  ForMembers(fields, [&](std::string_view name, JsonValue json) {
    item.insert_or_assign(std::string(name), ReadValue(json, depth));
  });
  return item;
}

StringSet ReadSet(JsonArray members) {
  StringSet set;
  for (auto member : members) set.members.emplace_back(std::string_view(member.get_string()));
  return set;
}

List ReadList(JsonArray elements, int depth) {
  List list;
  for (auto element : elements) list.push_back(ReadValue(element.value(), depth));
  return list;
}

Bytes ReadBytes(JsonValue json) {
  Bytes bytes;
  const std::string_view text = json.get_string();
  if (!absl::Base64Unescape({text.data(), text.size()}, &bytes.content)) {
    throw UnexpectedJson{"binary that is not Base64"};
  }
  return bytes;
}

Value ReadKind(std::string_view kind, JsonValue json, int depth) {
  if (kind == "S") return Of(std::string_view(json.get_string()));
  if (kind == "N") return {Number{std::string(std::string_view(json.get_string()))}};
  if (kind == "BOOL") return Of(bool(json.get_bool()));
  if (kind == "NULL") {
    json.get_bool().value();
    return {Null{}};
  }
  if (kind == "SS") return {ReadSet(json.get_array())};
  if (kind == "L") return {ReadList(json.get_array(), depth + 1)};
  if (kind == "M") return {ReadFields(json.get_object(), depth + 1)};
  if (kind == "B") return {ReadBytes(json)};
  if (kind != "NS" && kind != "BS") {
    throw UnexpectedJson{fmt::format("'{}' is not a kind of attribute", kind)};
  }
  const std::string_view raw = simdjson::to_json_string(json);
  return {Opaque{fmt::format(R"({{"{}":{}}})", kind, raw)}};
}

Value ReadValue(JsonValue json, int depth) {
  if (depth > kDeepest) throw UnexpectedJson{"nested too deep"};
  std::optional<Value> value;
  ForMembers(json.get_object(), [&](std::string_view kind, JsonValue content_json) {
    if (value) throw UnexpectedJson{"an attribute has two kinds"};
    value = ReadKind(kind, content_json, depth);
  });
  if (!value) throw UnexpectedJson{"an attribute has no kind"};
  return *std::move(value);
}

}  // namespace

Item ReadAttributes(JsonObject fields) { return ReadFields(fields, 0); }

}  // namespace weir::dynamo
