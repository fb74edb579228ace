#include "weir/dynamodb/response_parser.h"

#include <algorithm>
#include <iterator>

#include "weir/aws/json_response.h"
#include "weir/codec/json_members.h"
#include "weir/dynamodb/attribute_reader.h"

namespace weir::dynamo {
namespace {

// The name of the call in errors: several calls have responses of the same form.
constexpr std::string_view kCall = "a call on DynamoDB";
std::vector<Item> ReadItems(JsonArray elements) {
  std::vector<Item> items;
  for (auto element : elements) items.push_back(ReadAttributes(element.get_object()));
  return items;
}

void ReadResponses(JsonObject tables, BatchGetResponse& response) {
  ForMembers(tables, [&](std::string_view, JsonValue table) {
    std::ranges::move(ReadItems(table.get_array()), std::back_inserter(response.items));
  });
}

void ReadUnprocessed(JsonObject tables, BatchGetResponse& response) {
  ForMembers(tables, [&](std::string_view, JsonValue table) {
    ForMembers(table.get_object(), [&](std::string_view name, JsonValue json) {
      if (name == "Keys") response.unprocessed_keys = ReadItems(json.get_array());
    });
  });
}

void ReadWrite(JsonObject write, BatchWriteResponse& response) {
  ForMembers(write, [&](std::string_view kind, JsonValue request) {
    auto& items = kind == "PutRequest" ? response.unprocessed_puts : response.unprocessed_deletes;
    ForMembers(request.get_object(), [&](std::string_view, JsonValue item) {
      items.push_back(ReadAttributes(item.get_object()));
    });
  });
}

CancellationReason ReadReason(JsonObject fields) {
  CancellationReason reason;
  ForMembers(fields, [&](std::string_view name, JsonValue json) {
    if (name == "Code") reason.code = std::string_view(json.get_string());
    if (name == "Item" && !json.is_null()) reason.item = ReadAttributes(json.get_object());
  });
  return reason;
}

}  // namespace

Result<std::optional<Item>> ReadItem(std::string_view body, std::string_view wanted) {
  std::optional<Item> item;
  WEIR_RETURN_IF_ERROR(ReadResponse(kCall, body, [&](std::string_view name, JsonValue json) {
    if (name == wanted) item = ReadAttributes(json.get_object());
  }));
  return item;
}

Result<QueryResponse> ReadQuery(std::string_view body) {
  QueryResponse response;
  WEIR_RETURN_IF_ERROR(ReadResponse(kCall, body, [&](std::string_view name, JsonValue json) {
    if (name == "Items") response.items = ReadItems(json.get_array());
    if (name == "LastEvaluatedKey") response.last_key = ReadAttributes(json.get_object());
  }));
  return response;
}

Result<BatchGetResponse> ReadBatchGet(std::string_view body) {
  BatchGetResponse response;
  WEIR_RETURN_IF_ERROR(ReadResponse(kCall, body, [&](std::string_view name, JsonValue json) {
    if (name == "Responses") ReadResponses(json.get_object(), response);
    if (name == "UnprocessedKeys") ReadUnprocessed(json.get_object(), response);
  }));
  return response;
}

Result<BatchWriteResponse> ReadBatchWrite(std::string_view body) {
  BatchWriteResponse response;
  WEIR_RETURN_IF_ERROR(ReadResponse(kCall, body, [&](std::string_view name, JsonValue json) {
    if (name != "UnprocessedItems") return;
    ForMembers(json.get_object(), [&](std::string_view, JsonValue table) {
      for (auto write : table.get_array()) ReadWrite(write.get_object(), response);
    });
  }));
  return response;
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
    simdjson::ondemand::document response = reader.iterate(padded);
    return std::string(std::string_view(response.at_pointer(pointer).get_string()));
  } catch (const simdjson::simdjson_error&) {
    return std::nullopt;
  }
}

}  // namespace weir::dynamo
