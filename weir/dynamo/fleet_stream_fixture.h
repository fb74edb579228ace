// What the table of a simulated fleet says about its own history: consumption, divisions.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "weir/base/time.h"
#include "weir/bucket/bucket.h"

namespace weir::dynamo {

/// What one write did to one limit of one bucket: its returns, its takes, or its debits. That it
/// was applied, the table's own stream says; what the sums consist of, the process that planned it.
struct Movement {
  UnixMillis at;
  std::int64_t consumed = 0;  ///< millitokens; negative: returns
  /// Returns or debits; or tokens that a client of zae-limiter made, as a negative amount.
  bool is_adjust = false;
};
using Movements = std::map<std::pair<std::string, std::string>, std::vector<Movement>>;

class Fleet;
/// Takes less returns in millitokens, by (partition key of a shard, limit).
std::map<std::pair<std::string, std::string>, std::int64_t> Consumed(const Fleet& fleet);

/// One transaction of Weir's that divided a bucket of which no shard was missing; tokens as they
/// were and are at one instant, all shards together, by limit.
struct Division {
  std::string bucket;
  std::int64_t shards_before = 0;
  std::int64_t shards = 0;
  std::map<std::string, std::int64_t> tokens_before;
  std::map<std::string, std::int64_t> tokens;
};
/// A message for each one after which there was more than before.
std::vector<std::string> Minted(const std::vector<Division>& divisions);

/// Never over-admit, on every pair of instants: between them no more is taken than the capacity,
/// what comes back by time in between (and `slack` more: clocks that differ, and how long a write
/// was on its way), and what is given back, each return once. A message for each limit that breaks
/// it. `quotas` by limit name.
std::vector<std::string> OverAdmissions(const Movements& movements,
                                        const std::map<std::string, Quota>& quotas,
                                        milliseconds slack);

}  // namespace weir::dynamo
