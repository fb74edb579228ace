#include "weir/sim/dynamodb/dynamo_write_operations.h"

#include <set>
#include <utility>
#include <vector>

#include "weir/sim/dynamodb/consumption_report.h"
#include "weir/sim/dynamodb/dynamo_write.h"
#include "weir/sim/dynamodb/dynamo_write_units.h"

namespace weir::sim {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxBatchedWrites = 25;

void RefuseIfConflict(DynamoWorld& world) {
  if (!world.conflict) return;
  ++world.counts.conflicts;
  throw Refusal{.type = "TransactionConflictException",
                .message = "Transaction is ongoing for the item"};
}

// A write whose condition fails is billed, as by DynamoDB.
[[noreturn]] void RefuseCondition(DynamoWorld& world, const ItemWrite& write,
                                  ConsumptionReport& report) {
  ++world.counts.failed_conditions;
  ChargeUnchanged(world, write, report);
  Refusal refusal{.type = "ConditionalCheckFailedException",
                  .message = "The conditional request failed"};
  const Item* there = write.table->Find(write.key);
  if (write.old_on_failure && there != nullptr) refusal.more["Item"] = WriteItem(*there);
  throw refusal;
}

/// Returns the part of an image that ReturnValues wants: the updated paths, or all of it if
/// `updated` is null.
json Returned(const std::optional<Item>& image, const std::vector<Path>* updated) {
  if (!image) return json::object();
  return WriteItem(updated == nullptr ? *image : OrRefuse(Project(*image, *updated)));
}

// Returns the attributes for this value of ReturnValues, such as "UPDATED_OLD".
json Attributes(const ItemWrite& write, const std::string& which, const std::optional<Item>& before,
                const std::optional<Item>& after) {
  if (which == "NONE") return json::object();
  std::vector<Path> paths;
  paths.reserve(write.update.actions.size());
  for (const UpdateAction& action : write.update.actions) paths.push_back(action.path);
  const std::vector<Path>* updated = which.starts_with("UPDATED") ? &paths : nullptr;
  return Returned(which.ends_with("OLD") ? before : after, updated);
}

/// Applies a single write and returns its response.
json Perform(DynamoWorld& world, const ItemWrite& write, const RequestFields& fields,
             const std::string& returned) {
  ConsumptionReport report(world, fields);
  RefuseIfConflict(world);
  const nanoseconds lag = world.DrawLag();
  if (const auto spent = FindSpentTablePartition(world, write)) {
    RefuseForThroughput(spent->reason, spent->resource);
  }
  if (!ConditionHolds(write)) RefuseCondition(world, write, report);
  std::optional<Item> after = OrRefuse(ImageAfter(write));
  if (const auto spent = FindSpentIndexPartition(world, write, after)) {
    RefuseForThroughput(spent->reason, spent->resource);
  }
  const Item* there = write.table->Find(write.key);
  const std::optional<Item> before = there == nullptr ? std::nullopt : std::optional(*there);

  json response = json::object();
  json attributes = Attributes(write, returned, before, after);
  if (!attributes.empty()) response["Attributes"] = std::move(attributes);
  ApplyWrite(world, write, {.after = std::move(after), .lag = lag}, report);
  report.WriteTo(response);
  return response;
}

ItemWrite ReadBatched(DynamoWorld& world, const std::string& table, const json& request) {
  const RequestFields either(request, {"PutRequest", "DeleteRequest"});
  if (either.Has("PutRequest") == either.Has("DeleteRequest")) {
    RefuseInvalid(
        "Supplied AttributeValue has more than one datatypes set, must contain exactly "
        "one of the supported datatypes");
  }
  const bool put = either.Has("PutRequest");
  json alone = either.Get(put ? "PutRequest" : "DeleteRequest");
  alone["TableName"] = table;
  const RequestFields fields(alone, {"TableName", put ? "Item" : "Key"});
  return ReadWrite(put ? ItemWrite::Kind::kPut : ItemWrite::Kind::kDelete, world, fields);
}

struct BatchedWrite {
  ItemWrite write;
  const json* request = nullptr;
};

std::vector<BatchedWrite> ReadBatchedWrites(DynamoWorld& world, const json& tables) {
  std::vector<BatchedWrite> writes;
  std::set<std::pair<DynamoTable*, ItemKey>> seen;
  for (const auto& [table, requests] : tables.items()) {
    for (const json& request : requests) {
      writes.push_back({ReadBatched(world, table, request), &request});
      if (!seen.emplace(writes.back().write.table, writes.back().write.key).second) {
        RefuseInvalid("Provided list of item keys contains duplicates");
      }
    }
  }
  if (writes.empty() || writes.size() > kMaxBatchedWrites) {
    RefuseInvalid(
        "1 validation error detected: Value at 'requestItems' failed to satisfy "
        "constraint: Map value must satisfy constraint: [Member must have length less "
        "than or equal to 25, Member must have length greater than or equal to 1]");
  }
  return writes;
}

}  // namespace

json PutItem(DynamoWorld& world, const json& body) {
  const RequestFields fields(
      body, {"TableName", "Item", "ConditionExpression", "ExpressionAttributeNames",
             "ExpressionAttributeValues", "ReturnValues", "ReturnValuesOnConditionCheckFailure",
             "ReturnConsumedCapacity"});
  const ItemWrite write = ReadWrite(ItemWrite::Kind::kPut, world, fields);
  return Perform(world, write, fields, fields.Choice("ReturnValues", {"NONE", "ALL_OLD"}));
}

json UpdateItem(DynamoWorld& world, const json& body) {
  const RequestFields fields(
      body, {"TableName", "Key", "UpdateExpression", "ConditionExpression",
             "ExpressionAttributeNames", "ExpressionAttributeValues", "ReturnValues",
             "ReturnValuesOnConditionCheckFailure", "ReturnConsumedCapacity"});
  const ItemWrite write = ReadWrite(ItemWrite::Kind::kUpdate, world, fields);
  const std::string returned =
      fields.Choice("ReturnValues", {"NONE", "ALL_OLD", "ALL_NEW", "UPDATED_OLD", "UPDATED_NEW"});
  return Perform(world, write, fields, returned);
}

json DeleteItem(DynamoWorld& world, const json& body) {
  const RequestFields fields(
      body, {"TableName", "Key", "ConditionExpression", "ExpressionAttributeNames",
             "ExpressionAttributeValues", "ReturnValues", "ReturnValuesOnConditionCheckFailure",
             "ReturnConsumedCapacity"});
  const ItemWrite write = ReadWrite(ItemWrite::Kind::kDelete, world, fields);
  return Perform(world, write, fields, fields.Choice("ReturnValues", {"NONE", "ALL_OLD"}));
}

json BatchWriteItem(DynamoWorld& world, const json& body) {
  const RequestFields fields(body, {"RequestItems", "ReturnConsumedCapacity"});
  const std::vector<BatchedWrite> writes = ReadBatchedWrites(world, fields.Get("RequestItems"));
  json response = {{"UnprocessedItems", json::object()}};
  ConsumptionReport report(world, fields);
  std::size_t unprocessed = 0;
  for (const auto& [write, request] : writes) {
    const nanoseconds lag = world.DrawLag();
    const bool is_left_out = world.rng.Chance(world.faults.unprocessed);
    std::optional<Item> after = OrRefuse(ImageAfter(write));
    if (is_left_out || FindSpentTablePartition(world, write) ||
        FindSpentIndexPartition(world, write, after)) {
      response["UnprocessedItems"][write.table->spec().name].push_back(*request);
      ++unprocessed;
      continue;
    }
    ApplyWrite(world, write, {.after = std::move(after), .lag = lag}, report);
  }
  world.counts.unprocessed += unprocessed;
  if (unprocessed == writes.size()) RefuseForThroughput();
  report.WriteArrayTo(response);
  return response;
}

}  // namespace weir::sim
