// The history of a simulated fleet's table: consumption and divisions.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "weir/base/time.h"
#include "weir/bucket/bucket.h"
#include "weir/sim/dynamodb/expression/dynamo_value.h"

namespace weir::dynamo {

/// The effect of one write on one limit of one bucket: its returns, its takes, or its debits. The
/// table's own stream shows that it was applied; the process that planned it reports its sums.
struct Movement {
  UnixMillis at;
  std::int64_t consumed = 0;  ///< millitokens; negative: returns
  /// Returns or debits; or tokens that a client of zae-limiter created, as a negative amount.
  bool is_adjust = false;
};
using Movements = std::map<std::pair<std::string, std::string>, std::vector<Movement>>;

/// Returns an attribute of the item that exists; empty if it is not a text.
std::string TextIn(const sim::Item& item, const std::string& name);
/// Returns an attribute of the item; 0 if it does not exist or is not a whole number.
std::int64_t NumberIn(const sim::Item& item, const std::string& name);

class Fleet;
/// Returns takes less returns in millitokens, by (partition key of a shard, limit).
std::map<std::pair<std::string, std::string>, std::int64_t> Consumed(const Fleet& fleet);

/// One transaction of Weir that divided a bucket without missing shards. The tokens before and
/// after it, by limit, are the sums of all shards at the same time.
struct Division {
  std::string bucket;
  std::int64_t shards_before = 0;
  std::int64_t shards = 0;
  std::map<std::string, std::int64_t> tokens_before;
  std::map<std::string, std::int64_t> tokens;
};
/// Returns a message for each division that increased the tokens.
std::vector<std::string> Minted(const std::vector<Division>& divisions);

/// Checks that limits never over-admit, on every pair of instants. Between them no more is taken
/// than the capacity, the refill of that time (and of `slack` more: for clocks that differ, and for
/// the time that a write takes to arrive), and the returned tokens, each return once. Returns a
/// message for each limit that violates this. `quotas` are by limit name.
std::vector<std::string> OverAdmissions(const Movements& movements,
                                        const std::map<std::string, Quota>& quotas,
                                        milliseconds slack);

}  // namespace weir::dynamo
