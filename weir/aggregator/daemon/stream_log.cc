#include "weir/aggregator/daemon/stream_log.h"

#include <string_view>

namespace weir::dynamo {
namespace {

void WriteShardEvent(Log& log, LogLevel level, std::string_view event, const DamagedLease& about) {
  const LogField fields[] = {{"stream_shard", std::string_view(about.shard)},
                             {"message", std::string_view(about.error.message)}};
  log.Write(level, event, fields);
}

}  // namespace

void WriteEvent(Log& log, const ConsumerEvent& event) {
  if (const auto* damaged = std::get_if<LeaseDamaged>(&event)) {
    WriteShardEvent(log, LogLevel::kError, "aggregator.lease_damaged", damaged->lease);
  } else if (const auto* failing = std::get_if<RequestsFailing>(&event)) {
    WriteShardEvent(log, LogLevel::kWarning, "aggregator.requests_failing",
                    {failing->shard, failing->error});
  }
}

}  // namespace weir::dynamo
