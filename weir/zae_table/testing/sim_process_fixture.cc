#include "weir/zae_table/testing/sim_process_fixture.h"

namespace weir::dynamo {
SimProcess::SimProcess(sim::SimScheduler& scheduler, sim::SimServer& server, std::uint64_t seed,
                       milliseconds skew)
    : scheduler_(scheduler),
      skew_(skew),
      transport_(scheduler, server, seed),
      own_scheduler_(scheduler),
      own_transport_(transport_, own_scheduler_),
      client_(MakeJsonClient({own_transport_, signer_, credentials_, own_scheduler_},
                             {.target_prefix = "DynamoDB_20120810",
                              .host = "dynamodb.test",
                              .retry = {.max_attempts = 1},
                              .seed = seed + 1})) {}

}  // namespace weir::dynamo
