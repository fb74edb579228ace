#include "weir/sim/dynamodb/dynamo_scan.h"

#include <optional>
#include <vector>

#include "weir/sim/dynamodb/consumption_report.h"
#include "weir/sim/dynamodb/dynamo_page.h"

namespace weir::sim {
namespace {

using nlohmann::json;

PageCut ReadScanCut(const RequestFields& fields) {
  PageCut cut;
  Placeholders placeholders = fields.ReadPlaceholders();
  if (fields.Has("FilterExpression")) {
    cut.filter =
        OrRefuse(ParseCondition("FilterExpression", fields.Text("FilterExpression"), placeholders));
  }
  if (fields.Has("ProjectionExpression")) {
    cut.projection = OrRefuse(ParseProjection(fields.Text("ProjectionExpression"), placeholders));
  }
  OrRefuse(placeholders.CheckAllUsed());
  cut.limit = ReadLimit(fields);
  return cut;
}

// Returns the start key of the request, if it has one.
std::optional<ItemKey> ReadStart(const RequestFields& fields, const KeyNames& names) {
  if (!fields.Has("ExclusiveStartKey")) return std::nullopt;
  auto key = KeyIn(fields.ItemOf("ExclusiveStartKey"), names);
  if (!key) RefuseInvalid("The provided starting key is invalid");
  return key;
}

}  // namespace

json Scan(DynamoWorld& world, const json& body) {
  const RequestFields fields(
      body, {"TableName", "FilterExpression", "ProjectionExpression", "ExpressionAttributeNames",
             "ExpressionAttributeValues", "Limit", "ExclusiveStartKey", "ConsistentRead",
             "ReturnConsumedCapacity"});
  const PageCut cut = ReadScanCut(fields);
  const DynamoTable& table = world.Table(fields.Text("TableName"));
  const bool consistent = fields.BoolOr("ConsistentRead", false);
  const std::optional<ItemKey> start = ReadStart(fields, table.spec().key);
  std::vector<Candidate> candidates;
  for (const auto& [key, stored] : table.items()) {
    if (start && !(*start < key)) continue;
    const Item* item = world.View(stored, consistent);
    if (item != nullptr) candidates.push_back({{key, key}, item});
  }
  const ReadPage page = CutPage(cut, candidates);
  json response = ToResponse(cut, page, {table.spec().key});
  ConsumptionReport report(world, fields);
  report.AddRead(table.spec().name, ReadUnits(page.bytes, consistent));
  report.WriteTo(response);
  return response;
}

}  // namespace weir::sim
