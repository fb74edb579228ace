#include "weir/dynamo/answer.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <array>

namespace weir::dynamo {
namespace {

using simdjson::ondemand::array;
using simdjson::ondemand::document;
using simdjson::ondemand::field;
using simdjson::ondemand::object;
using simdjson::ondemand::parser;
using Json = simdjson::ondemand::value;

// Nested as deep as DynamoDB itself allows.
constexpr int kDeepest = 32;

// simdjson throws; nothing of that leaves this file.
struct Malformed {
  std::string what;
};

Value ReadValue(Json json, int depth);

Item ReadFields(object fields, int depth) {
  Item item;
  for (field entry : fields) {
    std::string name(std::string_view(entry.unescaped_key()));
    item.insert_or_assign(std::move(name), ReadValue(entry.value(), depth));
  }
  return item;
}

StringSet ReadSet(array members) {
  StringSet set;
  for (auto member : members) set.members.emplace_back(std::string_view(member.get_string()));
  return set;
}

List ReadList(array elements, int depth) {
  List list;
  for (auto element : elements) list.push_back(ReadValue(element.value(), depth));
  return list;
}

Value ReadKind(std::string_view kind, Json json, int depth) {
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
  if (kind != "B" && kind != "NS" && kind != "BS") {
    throw Malformed{fmt::format("'{}' is no kind of attribute", kind)};
  }
  const std::string_view raw = simdjson::to_json_string(json);
  return {Opaque{fmt::format(R"({{"{}":{}}})", kind, raw)}};
}

Value ReadValue(Json json, int depth) {
  if (depth > kDeepest) throw Malformed{"nested too deep"};
  std::optional<Value> value;
  for (field entry : json.get_object()) {
    if (value) throw Malformed{"an attribute has two kinds"};
    const std::string kind(std::string_view(entry.unescaped_key()));
    value = ReadKind(kind, entry.value(), depth);
  }
  if (!value) throw Malformed{"an attribute has no kind"};
  return *std::move(value);
}

std::vector<Item> ReadItems(array elements) {
  std::vector<Item> items;
  for (auto element : elements) items.push_back(ReadFields(element.get_object(), 0));
  return items;
}

// Runs `read` with each field of the answer.
template <class T, class Read>
Result<T> ReadAnswer(std::string_view body, Read read) {
  try {
    parser reader;
    const simdjson::padded_string padded(body);
    document answer = reader.iterate(padded);
    T result{};
    for (field entry : answer.get_object()) {
      const std::string name(std::string_view(entry.unescaped_key()));
      read(std::string_view(name), entry.value(), result);
    }
    return result;
  } catch (const simdjson::simdjson_error& error) {
    return Fail(Code::kDataLoss, fmt::format("answer of DynamoDB: {}", error.what()));
  } catch (const Malformed& malformed) {
    return Fail(Code::kDataLoss, fmt::format("answer of DynamoDB: {}", malformed.what));
  }
}

bool IsNull(Json json) { return json.is_null(); }

void ReadWrites(array writes, BatchWriteAnswer& answer) {
  for (auto write : writes) {
    for (field entry : write.get_object()) {
      const std::string kind(std::string_view(entry.unescaped_key()));
      for (field part : entry.value().get_object()) {
        auto& items = kind == "PutRequest" ? answer.unprocessed_puts : answer.unprocessed_deletes;
        items.push_back(ReadFields(part.value().get_object(), 0));
      }
    }
  }
}

CancellationReason ReadReason(object fields) {
  CancellationReason reason;
  for (field entry : fields) {
    const std::string name(std::string_view(entry.unescaped_key()));
    if (name == "Code") reason.code = std::string_view(entry.value().get_string());
    if (name == "Item" && !IsNull(entry.value())) {
      reason.item = ReadFields(entry.value().get_object(), 0);
    }
  }
  return reason;
}

}  // namespace

Result<std::optional<Item>> ReadItem(std::string_view body, std::string_view wanted) {
  return ReadAnswer<std::optional<Item>>(body, [&](std::string_view name, Json json, auto& item) {
    if (name == wanted) item = ReadFields(json.get_object(), 0);
  });
}

Result<QueryAnswer> ReadQuery(std::string_view body) {
  return ReadAnswer<QueryAnswer>(body, [](std::string_view name, Json json, auto& answer) {
    if (name == "Items") answer.items = ReadItems(json.get_array());
    if (name == "LastEvaluatedKey") answer.last_key = ReadFields(json.get_object(), 0);
  });
}

Result<BatchGetAnswer> ReadBatchGet(std::string_view body) {
  return ReadAnswer<BatchGetAnswer>(body, [](std::string_view name, Json json, auto& answer) {
    if (name == "Responses") {
      for (field table : json.get_object()) {
        for (Item& item : ReadItems(table.value().get_array())) {
          answer.items.push_back(std::move(item));
        }
      }
    } else if (name == "UnprocessedKeys") {
      for (field table : json.get_object()) {
        for (field part : table.value().get_object()) {
          const std::string key(std::string_view(part.unescaped_key()));
          if (key == "Keys") answer.unprocessed_keys = ReadItems(part.value().get_array());
        }
      }
    }
  });
}

Result<BatchWriteAnswer> ReadBatchWrite(std::string_view body) {
  return ReadAnswer<BatchWriteAnswer>(body, [](std::string_view name, Json json, auto& answer) {
    if (name != "UnprocessedItems") return;
    for (field table : json.get_object()) ReadWrites(table.value().get_array(), answer);
  });
}

Result<std::vector<CancellationReason>> ReadReasons(std::string_view body) {
  using Reasons = std::vector<CancellationReason>;
  return ReadAnswer<Reasons>(body, [](std::string_view name, Json json, Reasons& reasons) {
    if (name != "CancellationReasons") return;
    for (auto reason : json.get_array()) reasons.push_back(ReadReason(reason.get_object()));
  });
}

std::optional<std::string> ReadText(std::string_view body, std::string_view path) {
  std::string pointer = "/";
  for (const char c : path) pointer += c == '.' ? '/' : c;
  try {
    parser reader;
    const simdjson::padded_string padded(body);
    document answer = reader.iterate(padded);
    return std::string(std::string_view(answer.at_pointer(pointer).get_string()));
  } catch (const simdjson::simdjson_error&) {
    return std::nullopt;
  }
}

}  // namespace weir::dynamo
