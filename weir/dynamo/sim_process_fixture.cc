#include "weir/dynamo/sim_process_fixture.h"

namespace weir::dynamo {
SimProcess::SimProcess(sim::SimScheduler& scheduler, sim::SimServer& server, std::uint64_t seed,
                       milliseconds skew)
    : scheduler_(scheduler),
      skew_(skew),
      transport_(scheduler, server, seed),
      client_(MakeJsonClient({transport_, signer_, credentials_, scheduler},
                             {.target_prefix = "DynamoDB_20120810",
                              .host = "dynamodb.test",
                              .retry = {.max_attempts = 1},
                              .seed = seed + 1})) {}

}  // namespace weir::dynamo
