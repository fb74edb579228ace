// The state that the operations of the simulated DynamoDB share.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "weir/base/rng.h"
#include "weir/base/time.h"
#include "weir/sim/dynamodb/dynamo_capacity.h"
#include "weir/sim/dynamodb/dynamo_request.h"
#include "weir/sim/dynamodb/dynamo_table.h"
#include "weir/sim/dynamodb/sim_dynamo.h"

namespace weir::sim {

/// A transaction that succeeded, stored by its ClientRequestToken.
struct PastTransaction {
  std::string items;  ///< the JSON of its items
  Instant at;
};

struct KeptTable {
  DynamoTable table;
  Instant ready;               ///< until then, the table is being created
  nlohmann::json description;  ///< the constant parts of DescribeTable's response
};

struct DynamoWorld {
  DynamoWorld(const Clock& its_clock, std::uint64_t seed, const DynamoFaults& its_faults)
      : clock(its_clock), rng(seed), checksum_rng(~seed), faults(its_faults) {}

  /// Returns the table, or refuses the request if the table does not exist or is being created.
  DynamoTable& Table(const std::string& name);
  /// Draws the delay of the indexes for one write.
  nanoseconds DrawLag() { return nanoseconds(rng.Between(0, faults.longest_index_lag.count())); }
  /// Returns the image that a reader sees, or null. An inconsistent read may draw the previous
  /// image.
  const Item* View(const StoredItem& stored, bool consistent);
  const Item* View(const DynamoTable& table, const ItemKey& key, bool consistent);

  const Clock& clock;
  Rng rng;
  Rng checksum_rng;  // its own, so that checksum faults do not change other draws
  const DynamoFaults& faults;
  DynamoCounts counts;
  RangeCapacity ranges;
  std::map<std::string, KeptTable, std::less<>> tables;
  std::map<std::string, PastTransaction> transactions;
  bool throttled = false;    ///< drawn for this request
  bool conflict = false;     ///< drawn for this request
  bool in_progress = false;  ///< drawn for this request
};

/// The consumption of one request, for its response and for the counts.
class Bill {
 public:
  /// Reads ReturnConsumedCapacity and may refuse it: create the bill before the request changes
  /// anything.
  Bill(DynamoWorld& world, const Fields& fields);
  void AddRead(const std::string& table, double units) { AddRead(table, "", units); }
  void AddRead(const std::string& table, const std::string& index, double units);
  void AddWrite(const std::string& table, const WriteCost& cost, double times = 1);
  /// Adds ConsumedCapacity to the response if the request wants it.
  void WriteTo(nlohmann::json& answer) const;
  /// As WriteTo, in the form of batches and transactions.
  void WriteArrayTo(nlohmann::json& answer) const;

 private:
  nlohmann::json ToArray() const;

  DynamoWorld& world_;
  std::string how_;  ///< NONE, TOTAL or INDEXES
  std::map<std::string, WriteCost> tables_;
};

/// Returns the units for reading `bytes`: one for each started 4096 bytes, and half of that if the
/// read is not consistent.
double ReadUnits(std::size_t bytes, bool consistent);

/// Refuses a request because of its throughput. `reason` is listed in ThrottlingReasons, unless it
/// is empty. `resource` is the part of the resource's name after "table/".
[[noreturn]] void RefuseForThroughput(const std::string& reason = {},
                                      const std::string& resource = "t");

// The operations. Each takes the body of a request and returns the body of the response, or throws
// a Refusal.
nlohmann::json GetItem(DynamoWorld& world, const nlohmann::json& body);
nlohmann::json BatchGetItem(DynamoWorld& world, const nlohmann::json& body);
nlohmann::json Query(DynamoWorld& world, const nlohmann::json& body);
nlohmann::json PutItem(DynamoWorld& world, const nlohmann::json& body);
nlohmann::json UpdateItem(DynamoWorld& world, const nlohmann::json& body);
nlohmann::json DeleteItem(DynamoWorld& world, const nlohmann::json& body);
nlohmann::json BatchWriteItem(DynamoWorld& world, const nlohmann::json& body);
nlohmann::json TransactWriteItems(DynamoWorld& world, const nlohmann::json& body);
nlohmann::json TransactGetItems(DynamoWorld& world, const nlohmann::json& body);
nlohmann::json CreateTable(DynamoWorld& world, const nlohmann::json& body);
nlohmann::json DescribeTable(DynamoWorld& world, const nlohmann::json& body);
nlohmann::json DeleteTable(DynamoWorld& world, const nlohmann::json& body);
nlohmann::json UpdateTimeToLive(DynamoWorld& world, const nlohmann::json& body);
nlohmann::json DescribeTimeToLive(DynamoWorld& world, const nlohmann::json& body);
nlohmann::json UpdateContinuousBackups(DynamoWorld& world, const nlohmann::json& body);
nlohmann::json DescribeContinuousBackups(DynamoWorld& world, const nlohmann::json& body);

}  // namespace weir::sim
