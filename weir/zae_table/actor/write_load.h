// The load of writes on one item, as its internal limit `wcu` counts it.
#pragma once

#include <cstdint>

#include "weir/bucket/bucket.h"
#include "weir/dynamodb/value.h"

namespace weir::dynamo {

/// One unit in `wcu`: a write of an item of up to 1 KB.
inline constexpr std::int64_t kWriteCost = 1000;

/// If rf is further ahead of the time of a write than this, the write is not debited from `wcu`,
/// and the item is not hot: `wcu` is not refilled until the time of a write reaches rf, so a few
/// writes a second would drain `wcu`. Smaller differences between the times of Weir's processes are
/// usual.
inline constexpr milliseconds kUncountedAhead{10'000};

/// Returns the units that one write of this item consumes: its size in KB by DynamoDB's rules,
/// rounded up, and at least 1. The indexes have units of their own.
std::int64_t WriteUnits(const Item& item);

/// Returns the writes that one item may still bear `elapsed` ms after its last refill, in
/// thousandths of a unit, if it is refilled at 45 % of the rate in `wcu`. DynamoDB throttles a
/// partition key at the whole rate, and a division takes effect after a second or more.
std::int64_t WritesLeft(const Meter& wcu, std::int64_t elapsed);

/// Returns true if less than 30 % is left: the bucket is to be divided.
bool IsHot(const Meter& wcu, std::int64_t elapsed);

/// The change of the attributes of `wcu` by one write.
struct WriteDebit {
  std::int64_t tokens = 0;
  std::int64_t consumed = 0;
};
/// Returns the debit of `units`, and the refill if the write `moves` rf. No debit lowers the
/// refilled balance below 25 %: below 20 % zae-limiter's aggregator divides the bucket, too.
WriteDebit DebitWrite(const Meter& wcu, std::int64_t elapsed, bool moves, std::int64_t units);

}  // namespace weir::dynamo
