#include "apps/weir/aggregate/other_aggregator.h"

namespace weir::app {

void WarnOfOtherAggregator(const dynamo::VersionInfo& version, std::string_view remedy, Log& log) {
  if (!version.lambda) return;
  const LogField fields[] = {{"version", std::string_view(*version.lambda)}, {"message", remedy}};
  log.Write(LogLevel::kWarning, "aggregator.other_may_have_counted", fields);
}

}  // namespace weir::app
