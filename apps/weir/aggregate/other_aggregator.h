// Warns that zae-limiter's aggregator function may count the usage of the same table. It does not
// use Weir's leases, so both would count each change.
#pragma once

#include <string_view>

#include "weir/telemetry/log.h"
#include "weir/zae_table/version.h"

namespace weir::app {

/// Writes the log event "aggregator.other_may_have_counted", a warning, if the table's version
/// record contains a version of zae-limiter's function. zae-limiter's clients write that version
/// even if no function is deployed, so the event does not prove that one exists. `remedy` is the
/// text of the event's field `message`: what the operator should do.
void WarnOfOtherAggregator(const dynamo::VersionInfo& version, std::string_view remedy, Log& log);

}  // namespace weir::app
