#include "weir/dynamodb/response_parser.h"

#include <absl/strings/escaping.h>
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "weir/aws/json_response.h"
#include "weir/codec/json_members.h"

namespace weir::dynamo {
namespace {

// Named in errors; several calls have responses of the same form.
constexpr std::string_view kCall = "a call on DynamoDB";
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
    throw UnexpectedJson{fmt::format("'{}' is no kind of attribute", kind)};
  }
  const std::string_view raw = simdjson::to_json_string(json);
  return {Opaque{fmt::format(R"({{"{}":{}}})", kind, raw)}};
}

Value ReadValue(JsonValue json, int depth) {
  if (depth > kDeepest) throw UnexpectedJson{"nested too deep"};
  std::optional<Value> value;
  ForMembers(json.get_object(), [&](std::string_view kind, JsonValue held) {
    if (value) throw UnexpectedJson{"an attribute has two kinds"};
    value = ReadKind(kind, held, depth);
  });
  if (!value) throw UnexpectedJson{"an attribute has no kind"};
  return *std::move(value);
}

std::vector<Item> ReadItems(JsonArray elements) {
  std::vector<Item> items;
  for (auto element : elements) items.push_back(ReadFields(element.get_object(), 0));
  return items;
}

void ReadResponses(JsonObject tables, BatchGetAnswer& answer) {
  ForMembers(tables, [&](std::string_view, JsonValue table) {
    std::ranges::move(ReadItems(table.get_array()), std::back_inserter(answer.items));
  });
}

void ReadUnprocessed(JsonObject tables, BatchGetAnswer& answer) {
  ForMembers(tables, [&](std::string_view, JsonValue table) {
    ForMembers(table.get_object(), [&](std::string_view name, JsonValue json) {
      if (name == "Keys") answer.unprocessed_keys = ReadItems(json.get_array());
    });
  });
}

void ReadWrite(JsonObject write, BatchWriteAnswer& answer) {
  ForMembers(write, [&](std::string_view kind, JsonValue request) {
    auto& items = kind == "PutRequest" ? answer.unprocessed_puts : answer.unprocessed_deletes;
    ForMembers(request.get_object(), [&](std::string_view, JsonValue item) {
      items.push_back(ReadFields(item.get_object(), 0));
    });
  });
}

CancellationReason ReadReason(JsonObject fields) {
  CancellationReason reason;
  ForMembers(fields, [&](std::string_view name, JsonValue json) {
    if (name == "Code") reason.code = std::string_view(json.get_string());
    if (name == "Item" && !json.is_null()) reason.item = ReadFields(json.get_object(), 0);
  });
  return reason;
}

}  // namespace

Result<std::optional<Item>> ReadItem(std::string_view body, std::string_view wanted) {
  std::optional<Item> item;
  WEIR_RETURN_IF_ERROR(ReadResponse(kCall, body, [&](std::string_view name, JsonValue json) {
    if (name == wanted) item = ReadFields(json.get_object(), 0);
  }));
  return item;
}

Result<QueryAnswer> ReadQuery(std::string_view body) {
  QueryAnswer answer;
  WEIR_RETURN_IF_ERROR(ReadResponse(kCall, body, [&](std::string_view name, JsonValue json) {
    if (name == "Items") answer.items = ReadItems(json.get_array());
    if (name == "LastEvaluatedKey") answer.last_key = ReadFields(json.get_object(), 0);
  }));
  return answer;
}

Result<BatchGetAnswer> ReadBatchGet(std::string_view body) {
  BatchGetAnswer answer;
  WEIR_RETURN_IF_ERROR(ReadResponse(kCall, body, [&](std::string_view name, JsonValue json) {
    if (name == "Responses") ReadResponses(json.get_object(), answer);
    if (name == "UnprocessedKeys") ReadUnprocessed(json.get_object(), answer);
  }));
  return answer;
}

Result<BatchWriteAnswer> ReadBatchWrite(std::string_view body) {
  BatchWriteAnswer answer;
  WEIR_RETURN_IF_ERROR(ReadResponse(kCall, body, [&](std::string_view name, JsonValue json) {
    if (name != "UnprocessedItems") return;
    ForMembers(json.get_object(), [&](std::string_view, JsonValue table) {
      for (auto write : table.get_array()) ReadWrite(write.get_object(), answer);
    });
  }));
  return answer;
}

Result<std::vector<CancellationReason>> ReadReasons(std::string_view body) {
  std::vector<CancellationReason> reasons;
  WEIR_RETURN_IF_ERROR(ReadResponse(kCall, body, [&](std::string_view name, JsonValue json) {
    if (name != "CancellationReasons") return;
    for (auto reason : json.get_array()) reasons.push_back(ReadReason(reason.get_object()));
  }));
  return reasons;
}

std::optional<std::string> ReadText(std::string_view body, std::string_view path) {
  std::string pointer = "/";
  for (const char c : path) pointer += c == '.' ? '/' : c;
  try {
    simdjson::ondemand::parser reader;
    const simdjson::padded_string padded(body);
    simdjson::ondemand::document answer = reader.iterate(padded);
    return std::string(std::string_view(answer.at_pointer(pointer).get_string()));
  } catch (const simdjson::simdjson_error&) {
    return std::nullopt;
  }
}

}  // namespace weir::dynamo
