// The state that the operations of the simulated DynamoDB share.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "weir/base/rng.h"
#include "weir/base/time.h"
#include "weir/sim/dynamodb/dynamo_capacity.h"
#include "weir/sim/dynamodb/dynamo_request.h"
#include "weir/sim/dynamodb/dynamo_table.h"
#include "weir/sim/dynamodb/sim_dynamo.h"
#include "weir/sim/dynamodb/streams/dynamo_stream.h"

namespace weir::sim {

/// A transaction that succeeded, stored by its ClientRequestToken.
struct PastTransaction {
  std::string items;  ///< the JSON of its items
  Instant at;
};

struct TableEntry {
  DynamoTable table;
  Instant ready;               ///< until then, the table is being created
  nlohmann::json description;  ///< the constant parts of DescribeTable's response
  std::optional<DynamoStream> stream{};
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
  PartitionCapacity partitions;
  std::map<std::string, TableEntry, std::less<>> tables;
  std::map<std::string, PastTransaction> transactions;
  bool throttled = false;    ///< drawn for this request
  bool conflict = false;     ///< drawn for this request
  bool in_progress = false;  ///< drawn for this request
};

/// Refuses a request because of its throughput. `reason` is listed in ThrottlingReasons, unless it
/// is empty. `resource` is the part of the resource's name after "table/".
[[noreturn]] void RefuseForThroughput(const std::string& reason = {},
                                      const std::string& resource = "t");

}  // namespace weir::sim
