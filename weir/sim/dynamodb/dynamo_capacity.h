// The write units that a partition key can consume.
//
// Source: AWS, "Best practices for designing and using partition keys effectively": 1,000 write
// units a second for each partition, and up to five minutes of unused capacity in bursts.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "weir/base/time.h"
#include "weir/sim/dynamodb/expression/dynamo_key.h"

namespace weir::sim {

/// Names a partition key of a table, or of one of its indexes (written "table/index").
using KeyRange = std::pair<std::string, KeyPart>;

// The capacity of each partition key.
struct RangeRate {
  double units_a_second = 0;  ///< 0: unlimited
  nanoseconds burst{0};
};

/// Keeps the balance of write units of each range. A new range has the units of one second. A write
/// passes if any units are left, even if it consumes more than that: the balance may become
/// negative. Not thread-safe.
class RangeCapacity {
 public:
  bool HasUnits(const KeyRange& range, const RangeRate& rate, Instant now);
  void Consume(const KeyRange& range, double units, const RangeRate& rate, Instant now);

 private:
  struct Balance {
    double units = 0;
    Instant at;
  };
  // Returns the balance of the range at `now`, which it creates if necessary.
  Balance& Refill(const KeyRange& range, const RangeRate& rate, Instant now);

  std::map<KeyRange, Balance> balances_;
};

}  // namespace weir::sim
