// A scenario of producers on one stream: what a text file fixes of a run; the seed draws the rest.
#pragma once

#include <cstdint>
#include <string_view>

#include "weir/base/result.h"
#include "weir/base/time.h"
#include "weir/sim/sim_kinesis.h"
#include "weir/sim/sim_network.h"

namespace weir::simulation {

struct StreamScenario {
  int producers = 1;
  std::uint64_t shards = 2;  ///< at first
  nanoseconds run = std::chrono::seconds(2);
  std::int64_t puts = 100;                    ///< a second and producer
  nanoseconds ttl = std::chrono::seconds(8);  ///< of a record, at most; at least a quarter of it
  nanoseconds timeout = std::chrono::seconds(1);  ///< of a request
  double large = 0;  ///< of all records, those of 60 KiB up to what half a shard takes in a second
  /// Of one shard, each second: records, and so many KiB. The producers know it.
  std::int64_t shard_rate = 1000;
  /// What a producer sends a shard at once, in percent of a second's worth.
  std::int64_t burst = 100;
  /// Nothing goes wrong: everything is stored at the first try, no shard's limit is met, and
  /// producers are as they are by default, but for how they aggregate.
  bool calm = false;
  sim::KinesisOptions options;
  sim::KinesisFaults faults;
  sim::NetworkFaults network;
};

/// The format: scenario_text.h.
[[nodiscard]] Result<StreamScenario> ParseStreamScenario(std::string_view text);

}  // namespace weir::simulation
