// The capacity units that one request consumes.
#pragma once

#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "weir/sim/dynamodb/dynamo_request.h"
#include "weir/sim/dynamodb/dynamo_table.h"
#include "weir/sim/dynamodb/dynamo_world.h"

namespace weir::sim {

/// The consumption of one request, for its response and for the counts.
class ConsumptionReport {
 public:
  /// Reads ReturnConsumedCapacity and may refuse it: create the report before the request changes
  /// anything.
  ConsumptionReport(DynamoWorld& world, const RequestFields& fields);
  void AddRead(const std::string& table, double units) { AddRead(table, "", units); }
  void AddRead(const std::string& table, const std::string& index, double units);
  void AddWrite(const std::string& table, const WriteCost& cost);
  /// Adds ConsumedCapacity to the response if the request wants it.
  void WriteTo(nlohmann::json& response) const;
  /// Like WriteTo, but in the form of batches and transactions: an array.
  void WriteArrayTo(nlohmann::json& response) const;

 private:
  nlohmann::json ToArray() const;

  DynamoWorld& world_;
  std::string how_;  ///< NONE, TOTAL or INDEXES
  std::map<std::string, WriteCost> tables_;
};

/// Returns the units for reading `bytes`: one for each started 4096 bytes, and half of that if the
/// read is not consistent.
double ReadUnits(std::size_t bytes, bool consistent);

}  // namespace weir::sim
