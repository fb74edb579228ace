// Checks that items of a simulated fleet expire only when no used tokens are forgotten with them.
#pragma once

#include <string>
#include <vector>

#include "weir/zae_table/testing/fleet_fixture.h"

namespace weir::dynamo {

/// Returns a message for each write of Weir that left a bucket's item with a `ttl` before all of
/// its limits are full again, or before those that left early would be. Up to `slack` is allowed:
/// for clocks that differ, and for the time that a write takes to arrive. Read from the table's own
/// stream.
std::vector<std::string> EarlyTtls(const Fleet& fleet, milliseconds slack);

}  // namespace weir::dynamo
