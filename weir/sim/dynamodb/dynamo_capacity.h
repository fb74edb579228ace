// The write units that the items of one partition key can consume.
//
// Source: AWS, "Best practices for designing and using partition keys effectively": 1,000 write
// units a second for each partition, and up to five minutes of unused capacity in bursts.
#pragma once

#include <compare>
#include <map>
#include <string>

#include "weir/base/time.h"
#include "weir/sim/dynamodb/expression/dynamo_key.h"

namespace weir::sim {

/// One partition key of a table, or of one of its indexes.
struct PartitionKey {
  std::string resource;  ///< the name of a table, or "table/index/name" for an index
  KeyPart value;

  friend bool operator==(const PartitionKey&, const PartitionKey&) = default;
  friend auto operator<=>(const PartitionKey&, const PartitionKey&) = default;
};

/// The write units that each partition key gets.
struct PartitionRate {
  double units_a_second = 0;  ///< 0: unlimited
  nanoseconds burst{0};       ///< the maximum balance is the units of this time, at least of 1 s
};

/// Keeps the balance of write units of each partition key, which begins with the units of 1 s. A
/// write passes if any units are left, even if it consumes more than that: the balance may become
/// negative. Not thread-safe.
class PartitionCapacity {
 public:
  bool HasUnits(const PartitionKey& key, const PartitionRate& rate, Instant now);
  void Consume(const PartitionKey& key, double units, const PartitionRate& rate, Instant now);

 private:
  struct Balance {
    double units = 0;
    Instant at;
  };
  // Returns the balance of the key at `now`, which it creates if necessary.
  Balance& Refill(const PartitionKey& key, const PartitionRate& rate, Instant now);

  std::map<PartitionKey, Balance> balances_;
};

}  // namespace weir::sim
