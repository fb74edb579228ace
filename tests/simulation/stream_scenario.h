// A scenario of producers on one stream: the parameters that a text file sets. The seed draws
// everything else.
#pragma once

#include <cstdint>
#include <string_view>

#include "weir/base/result.h"
#include "weir/base/time.h"
#include "weir/sim/kinesis/sim_kinesis.h"
#include "weir/sim/sim_network.h"

namespace weir::simulation {

struct StreamScenario {
  int producers = 1;
  std::uint64_t shards = 2;  ///< at the start
  nanoseconds run = std::chrono::seconds(2);
  std::int64_t puts = 100;  ///< per second and producer
  /// The time to live of a record: a quarter of this to all of it.
  nanoseconds ttl = std::chrono::seconds(8);
  nanoseconds timeout = std::chrono::seconds(1);  ///< the timeout of a request
  double large = 0;  ///< the fraction of records of 60 KiB up to half of a shard's bytes per second
  /// Records per second of one shard, and also its KiB per second. The producers know this limit.
  std::int64_t shard_rate = 1000;
  /// The burst of a producer on one shard, in percent of one second's quota.
  std::int64_t burst = 100;
  /// Nothing fails: all records are stored by the first attempt, no shard's limit is exceeded, and
  /// producers have default options except for aggregation.
  bool calm = false;
  sim::KinesisOptions options;
  sim::KinesisFaults faults;
  sim::NetworkFaults network;
};

/// Parses the format of scenario_text.h.
[[nodiscard]] Result<StreamScenario> ParseStreamScenario(std::string_view text);

}  // namespace weir::simulation
