// How many write units a partition key bears.
//
// Source: AWS, "Best practices for designing and using partition keys effectively": 1,000 write
// units a second for each partition, and up to five minutes of unused capacity in bursts.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "weir/base/time.h"
#include "weir/sim/dynamo_key.h"

namespace weir::sim {

/// The table by its name, or one of its indexes as table/index; a partition key in it.
using KeyRange = std::pair<std::string, KeyPart>;

struct RangeTerms {
  double units_a_second = 0;  ///< 0: any number
  nanoseconds burst{0};
};

/// A range that begins has the units of one second. A write passes while any are left, whatever it
/// consumes. A value; not thread-safe.
class RangeCapacity {
 public:
  bool HasUnits(const KeyRange& range, const RangeTerms& terms, Instant now);
  void Consume(const KeyRange& range, double units, const RangeTerms& terms, Instant now);

 private:
  struct Balance {
    double units = 0;
    Instant at;
  };
  Balance& Refill(const KeyRange& range, const RangeTerms& terms, Instant now);

  std::map<KeyRange, Balance> balances_;
};

}  // namespace weir::sim
