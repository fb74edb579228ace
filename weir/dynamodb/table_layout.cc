#include "weir/dynamodb/table_layout.h"

#include <fmt/format.h>
#include <simdjson.h>

#include "weir/aws/failure.h"
#include "weir/aws/json_response.h"
#include "weir/dynamodb/value.h"

namespace weir::dynamo {
namespace {

namespace dom = simdjson::dom;
using Indexes = std::map<std::string, IndexLayout>;

// Only the table's name may contain characters that JSON must escape

void AppendKeySchema(std::string& body, const IndexLayout& index) {
  body += fmt::format(R"("KeySchema":[{{"AttributeName":"{}","KeyType":"HASH"}})", index.hash);
  if (!index.range.empty()) {
    body += fmt::format(R"(,{{"AttributeName":"{}","KeyType":"RANGE"}})", index.range);
  }
  body += ']';
}

void AppendIndexes(std::string& body, std::string_view field, const Indexes& indexes) {
  if (indexes.empty()) return;
  body += fmt::format(R"(,"{}":[)", field);
  bool first = true;
  for (const auto& [name, index] : indexes) {
    body += fmt::format(R"({}{{"IndexName":"{}",)", first ? "" : ",", name);
    AppendKeySchema(body, index);
    body += fmt::format(R"(,"Projection":{{"ProjectionType":"{}"}}}})", index.projection);
    first = false;
  }
  body += ']';
}

void AppendKeyTypes(std::string& body, const TableLayout& layout) {
  body += R"(,"AttributeDefinitions":[)";
  bool first = true;
  for (const auto& [name, type] : layout.key_types) {
    body += fmt::format(R"({}{{"AttributeName":"{}","AttributeType":"{}"}})", first ? "" : ",",
                        name, type);
    first = false;
  }
  body += "],";
}

// simdjson throws; its exceptions do not leave this file

std::string Text(dom::element at, std::string_view field) {
  return std::string(std::string_view(at[field]));
}

std::string TextOr(dom::element at, std::string_view field, std::string_view fallback) {
  std::string_view text = fallback;
  if (at[field].get(text) != simdjson::SUCCESS) text = fallback;
  return std::string(text);
}

IndexLayout ReadIndex(dom::element at) {
  IndexLayout index;
  for (const dom::element key : dom::array(at["KeySchema"])) {
    (Text(key, "KeyType") == "HASH" ? index.hash : index.range) = Text(key, "AttributeName");
  }
  dom::element projection;
  if (at["Projection"].get(projection) == simdjson::SUCCESS) {
    index.projection = TextOr(projection, "ProjectionType", "");
  }
  return index;
}

Indexes ReadIndexes(dom::element table, std::string_view field) {
  Indexes indexes;
  dom::array found;
  if (table[field].get(found) != simdjson::SUCCESS) return indexes;
  for (const dom::element index : found) indexes[Text(index, "IndexName")] = ReadIndex(index);
  return indexes;
}

std::string ReadStream(dom::element table) {
  dom::element stream;
  bool enabled = false;
  if (table["StreamSpecification"].get(stream) != simdjson::SUCCESS) return "";
  if (stream["StreamEnabled"].get(enabled) != simdjson::SUCCESS || !enabled) return "";
  return TextOr(stream, "StreamViewType", "");
}

TableLayout ReadLayout(dom::element table) {
  TableLayout layout;
  layout.keys = ReadIndex(table);
  layout.global_indexes = ReadIndexes(table, "GlobalSecondaryIndexes");
  layout.local_indexes = ReadIndexes(table, "LocalSecondaryIndexes");
  for (const dom::element key : dom::array(table["AttributeDefinitions"])) {
    layout.key_types[Text(key, "AttributeName")] = Text(key, "AttributeType");
  }
  dom::element billing;
  if (table["BillingModeSummary"].get(billing) == simdjson::SUCCESS) {
    layout.billing = TextOr(billing, "BillingMode", layout.billing);
  }
  layout.stream = ReadStream(table);
  return layout;
}

std::int64_t NumberOr0(dom::element table, std::string_view field) {
  std::int64_t number = 0;
  return table[field].get(number) == simdjson::SUCCESS ? number : 0;
}

std::string_view OrNone(std::string_view text) { return text.empty() ? "none" : text; }

void Compare(std::string_view what, std::string_view found, std::string_view wanted,
             std::vector<std::string>& lines) {
  if (found == wanted) return;
  lines.push_back(fmt::format("{}: {}, should be {}", what, OrNone(found), OrNone(wanted)));
}

void CompareIndex(std::string_view what, const IndexLayout& found, const IndexLayout& wanted,
                  std::vector<std::string>& lines) {
  Compare(fmt::format("partition key of {}", what), found.hash, wanted.hash, lines);
  Compare(fmt::format("sort key of {}", what), found.range, wanted.range, lines);
  Compare(fmt::format("projection of {}", what), found.projection, wanted.projection, lines);
}

void CompareIndexes(std::string_view kind, const Indexes& found, const Indexes& wanted,
                    std::vector<std::string>& lines) {
  for (const auto& [name, index] : wanted) {
    const auto at = found.find(name);
    if (at == found.end()) {
      lines.push_back(fmt::format("{} index {}: missing", kind, name));
    } else {
      CompareIndex(fmt::format("{} index {}", kind, name), at->second, index, lines);
    }
  }
  for (const auto& [name, index] : found) {
    if (!wanted.contains(name)) {
      lines.push_back(fmt::format("{} index {}: should not be there", kind, name));
    }
  }
}

}  // namespace

std::string CreateTableBody(std::string_view table, const TableLayout& layout) {
  std::string body = R"({"TableName":)";
  AppendJson(body, table);
  body += fmt::format(R"(,"BillingMode":"{}")", layout.billing);
  AppendKeyTypes(body, layout);
  AppendKeySchema(body, layout.keys);
  AppendIndexes(body, "GlobalSecondaryIndexes", layout.global_indexes);
  AppendIndexes(body, "LocalSecondaryIndexes", layout.local_indexes);
  if (!layout.stream.empty()) {
    body += fmt::format(R"(,"StreamSpecification":{{"StreamEnabled":true,"StreamViewType":"{}"}})",
                        layout.stream);
  }
  return body + '}';
}

Result<TableDescription> ReadDescription(std::string_view body) {
  try {
    dom::parser parser;
    const simdjson::padded_string padded(body);
    const dom::element table = parser.parse(padded)["Table"];
    return TableDescription{.layout = ReadLayout(table),
                            .status = Text(table, "TableStatus"),
                            .arn = TextOr(table, "TableArn", ""),
                            .stream_arn = TextOr(table, "LatestStreamArn", ""),
                            .items = NumberOr0(table, "ItemCount"),
                            .bytes = NumberOr0(table, "TableSizeBytes")};
  } catch (const simdjson::simdjson_error& error) {
    return MalformedResponse("DescribeTable", error.what());
  }
}

std::vector<std::string> Differences(const TableLayout& found, const TableLayout& wanted) {
  std::vector<std::string> lines;
  CompareIndex("the table", found.keys, wanted.keys, lines);
  CompareIndexes("global", found.global_indexes, wanted.global_indexes, lines);
  CompareIndexes("local", found.local_indexes, wanted.local_indexes, lines);
  for (const auto& [name, type] : wanted.key_types) {
    const auto at = found.key_types.find(name);
    // A missing key was reported with its index.
    if (at != found.key_types.end()) Compare("type of key " + name, at->second, type, lines);
  }
  Compare("billing", found.billing, wanted.billing, lines);
  Compare("stream", found.stream, wanted.stream, lines);
  return lines;
}

}  // namespace weir::dynamo
