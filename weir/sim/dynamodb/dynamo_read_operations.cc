#include "weir/sim/dynamodb/dynamo_read_operations.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "weir/sim/dynamodb/consumption_report.h"

namespace weir::sim {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxBatchedKeys = 100;
constexpr std::size_t kLargestBatch = 16 * 1024 * 1024;

/// The part of an item that a request reads: all of it if there are no paths.
struct Projection {
  std::vector<Path> paths;

  json Of(const Item& item) const {
    return WriteItem(paths.empty() ? item : OrRefuse(Project(item, paths)));
  }
};

Projection ReadProjection(const RequestFields& fields) {
  Projection projection;
  Placeholders placeholders = fields.ReadPlaceholders();
  if (fields.Has("ProjectionExpression")) {
    projection.paths = OrRefuse(ParseProjection(fields.Text("ProjectionExpression"), placeholders));
  }
  OrRefuse(placeholders.CheckAllUsed());
  return projection;
}

/// One table's part of a BatchGetItem.
struct TableKeys {
  std::string name;
  const DynamoTable* table = nullptr;
  Projection projection;
  bool consistent = false;
  json request;  ///< without its Keys
  std::vector<std::pair<ItemKey, json>> keys;
};

TableKeys ReadTableKeys(DynamoWorld& world, const std::string& name, const json& request) {
  const RequestFields fields(
      request, {"Keys", "ConsistentRead", "ProjectionExpression", "ExpressionAttributeNames"});
  TableKeys wanted{.name = name,
                   .table = &world.Table(name),
                   .projection = ReadProjection(fields),
                   .consistent = fields.BoolOr("ConsistentRead", false),
                   .request = request,
                   .keys = {}};
  wanted.request.erase("Keys");
  std::set<ItemKey> seen;
  for (const json& attributes : fields.List("Keys")) {
    const ItemKey key = OrRefuse(wanted.table->ReadKey(OrRefuse(ReadItem(attributes))));
    if (!seen.insert(key).second) {
      RefuseInvalid("Provided list of item keys contains duplicates");
    }
    wanted.keys.emplace_back(key, attributes);
  }
  return wanted;
}

std::vector<TableKeys> ReadBatchedKeys(DynamoWorld& world, const json& tables) {
  std::vector<TableKeys> batch;
  std::size_t count = 0;
  for (const auto& [name, request] : tables.items()) {
    batch.push_back(ReadTableKeys(world, name, request));
    count += batch.back().keys.size();
  }
  if (count == 0) RefuseInvalid("The batch get request has no keys");
  if (count > kMaxBatchedKeys) {
    RefuseInvalid("Too many items requested for the BatchGetItem call");
  }
  return batch;
}

void Shuffle(json& array, Rng& rng) {
  for (std::size_t left = array.size(); left > 1; --left) {
    std::swap(array[left - 1], array[rng.Below(left)]);
  }
}

/// Reads one batch into its response. Keys that a fault or the size limit leaves out are returned
/// as unprocessed.
class BatchReader {
 public:
  BatchReader(DynamoWorld& world, ConsumptionReport& report) : world_(world), report_(report) {}

  void Read(const TableKeys& wanted) {
    json& found = response_["Responses"][wanted.name] = json::array();
    for (const auto& [key, attributes] : wanted.keys) {
      const Item* item = world_.View(*wanted.table, key, wanted.consistent);
      const std::size_t size = item == nullptr ? 0 : SizeOf(*item);
      const bool unprocessed = world_.rng.Chance(world_.faults.unprocessed);
      if (unprocessed) ++world_.counts.unprocessed;
      if (unprocessed || bytes_ + size > kLargestBatch) {
        Leave(wanted, attributes);
        continue;
      }
      ++read_;
      bytes_ += size;
      report_.AddRead(wanted.name, ReadUnits(size, wanted.consistent));
      if (item != nullptr) found.push_back(wanted.projection.Of(*item));
    }
    // AWS promises no order, so code that relies on one should fail.
    Shuffle(found, world_.rng);
  }

  // Returns the response. Refuses the request if no key was read, as AWS does.
  json Respond() {
    if (read_ == 0) RefuseForThroughput();
    return std::move(response_);
  }

 private:
  // Returns the key to the caller as unprocessed.
  void Leave(const TableKeys& wanted, const json& attributes) {
    json& left = response_["UnprocessedKeys"][wanted.name];
    if (left.is_null()) left = wanted.request;
    left["Keys"].push_back(attributes);
  }

  DynamoWorld& world_;
  ConsumptionReport& report_;
  json response_ = {{"Responses", json::object()}, {"UnprocessedKeys", json::object()}};
  std::size_t bytes_ = 0;
  std::size_t read_ = 0;
};

}  // namespace

json GetItem(DynamoWorld& world, const json& body) {
  const RequestFields fields(body, {"TableName", "Key", "ConsistentRead", "ProjectionExpression",
                                    "ExpressionAttributeNames", "ReturnConsumedCapacity"});
  const Projection projection = ReadProjection(fields);
  const bool consistent = fields.BoolOr("ConsistentRead", false);
  const DynamoTable& table = world.Table(fields.Text("TableName"));
  const ItemKey key = OrRefuse(table.ReadKey(fields.ItemOf("Key")));

  json response = json::object();
  const Item* item = world.View(table, key, consistent);
  if (item != nullptr) response["Item"] = projection.Of(*item);
  ConsumptionReport report(world, fields);
  report.AddRead(table.spec().name, ReadUnits(item == nullptr ? 0 : SizeOf(*item), consistent));
  report.WriteTo(response);
  return response;
}

json BatchGetItem(DynamoWorld& world, const json& body) {
  const RequestFields fields(body, {"RequestItems", "ReturnConsumedCapacity"});
  const std::vector<TableKeys> batch = ReadBatchedKeys(world, fields.Get("RequestItems"));
  ConsumptionReport report(world, fields);
  BatchReader reader(world, report);
  for (const TableKeys& wanted : batch) reader.Read(wanted);
  json response = reader.Respond();
  report.WriteArrayTo(response);
  return response;
}

}  // namespace weir::sim
