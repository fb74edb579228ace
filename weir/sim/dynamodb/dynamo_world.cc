#include "weir/sim/dynamodb/dynamo_world.h"

#include <algorithm>
#include <utility>

namespace weir::sim {

using nlohmann::json;

DynamoTable& DynamoWorld::Table(const std::string& name) {
  const auto found = tables.find(name);
  if (found == tables.end() || clock.Now() < found->second.ready) {
    throw Refusal{.type = "ResourceNotFoundException", .message = "Requested resource not found"};
  }
  return found->second.table;
}

const Item* DynamoWorld::View(const StoredItem& stored, bool consistent) {
  const bool fresh_write = clock.Now() - stored.written <= faults.longest_staleness;
  const bool stale = !consistent && rng.Chance(faults.stale_read) && fresh_write;
  if (stale) ++counts.stale_reads;
  const std::optional<Item>& image = stale ? stored.before : stored.now;
  return image ? &*image : nullptr;
}

const Item* DynamoWorld::View(const DynamoTable& table, const ItemKey& key, bool consistent) {
  const StoredItem* stored = table.FindStored(key);
  if (stored != nullptr) return View(*stored, consistent);
  // A missing item makes the same draw as an existing one.
  if (!consistent) rng.Chance(faults.stale_read);
  return nullptr;
}

Bill::Bill(DynamoWorld& world, const Fields& fields)
    : world_(world), how_(fields.Choice("ReturnConsumedCapacity", {"NONE", "TOTAL", "INDEXES"})) {}

void Bill::AddRead(const std::string& table, const std::string& index, double units) {
  world_.counts.read_units += units;
  WriteCost& cost = tables_[table];
  (index.empty() ? cost.table : cost.indexes[index]) += units;
}

void Bill::AddWrite(const std::string& table, const WriteCost& cost, double times) {
  world_.counts.write_units += cost.Total() * times;
  WriteCost& sum = tables_[table];
  sum.table += cost.table * times;
  for (const auto& [name, units] : cost.indexes) sum.indexes[name] += units * times;
}

json Bill::ToArray() const {
  json array = json::array();
  for (const auto& [name, cost] : tables_) {
    json one = {{"TableName", name}, {"CapacityUnits", cost.Total()}};
    if (how_ == "INDEXES") {
      one["Table"] = {{"CapacityUnits", cost.table}};
      for (const auto& [index, units] : cost.indexes) {
        one["GlobalSecondaryIndexes"][index] = {{"CapacityUnits", units}};
      }
    }
    array.push_back(std::move(one));
  }
  return array;
}

void Bill::WriteTo(json& answer) const {
  if (how_ != "NONE") answer["ConsumedCapacity"] = ToArray().at(0);
}

void Bill::WriteArrayTo(json& answer) const {
  if (how_ != "NONE") answer["ConsumedCapacity"] = ToArray();
}

double ReadUnits(std::size_t bytes, bool consistent) {
  const auto whole = static_cast<double>(std::max<std::size_t>(1, (bytes + 4095) / 4096));
  return consistent ? whole : whole / 2;
}

void RefuseForThroughput(const std::string& reason, const std::string& resource) {
  Refusal refusal{
      .type = "ProvisionedThroughputExceededException",
      .message =
          "The level of configured provisioned throughput for the table was exceeded. Consider "
          "increasing your provisioning level with the UpdateTable API."};
  if (!reason.empty()) {
    refusal.more["ThrottlingReasons"].push_back(
        {{"reason", reason},
         {"resource", "arn:aws:dynamodb:eu-west-1:000000000000:table/" + resource}});
  }
  throw refusal;
}

}  // namespace weir::sim
