#include "weir/sim/dynamodb/consumption_report.h"

#include <algorithm>
#include <utility>

namespace weir::sim {

using nlohmann::json;

ConsumptionReport::ConsumptionReport(DynamoWorld& world, const RequestFields& fields)
    : world_(world), how_(fields.Choice("ReturnConsumedCapacity", {"NONE", "TOTAL", "INDEXES"})) {}

void ConsumptionReport::AddRead(const std::string& table, const std::string& index, double units) {
  world_.counts.read_units += units;
  WriteCost& cost = tables_[table];
  (index.empty() ? cost.table : cost.indexes[index]) += units;
}

void ConsumptionReport::AddWrite(const std::string& table, const WriteCost& cost) {
  world_.counts.write_units += cost.Total();
  WriteCost& sum = tables_[table];
  sum.table += cost.table;
  for (const auto& [name, units] : cost.indexes) sum.indexes[name] += units;
}

json ConsumptionReport::ToArray() const {
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

void ConsumptionReport::WriteTo(json& response) const {
  if (how_ != "NONE") response["ConsumedCapacity"] = ToArray().at(0);
}

void ConsumptionReport::WriteArrayTo(json& response) const {
  if (how_ != "NONE") response["ConsumedCapacity"] = ToArray();
}

double ReadUnits(std::size_t bytes, bool consistent) {
  const auto whole = static_cast<double>(std::max<std::size_t>(1, (bytes + 4095) / 4096));
  return consistent ? whole : whole / 2;
}

}  // namespace weir::sim
