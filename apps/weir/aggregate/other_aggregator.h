// A warning about zae-limiter's own aggregator, which knows no lease.
#pragma once

#include <string_view>

#include "weir/telemetry/log.h"
#include "weir/zae_table/version.h"

namespace weir::app {

/// Writes "aggregator.other_may_have_counted" (warning: version, message) if the table's version
/// record names a version of zae-limiter's function. Its clients write the version also if no
/// function is deployed, so this is not a proof. `remedy` is the message.
void WarnOfOtherAggregator(const dynamo::VersionInfo& version, std::string_view remedy, Log& log);

}  // namespace weir::app
