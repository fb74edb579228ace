// Whether the items of a simulated fleet may go before nothing would be forgotten with them.
#pragma once

#include <string>
#include <vector>

#include "weir/dynamo/fleet_fixture.h"

namespace weir::dynamo {

/// A message for each write of Weir's that left a bucket's item with a `ttl` before all its limits
/// are full again, or before those that left early would be. Up to `slack` is allowed: clocks that
/// differ, and how long a write was on its way. Read from the table's own stream.
std::vector<std::string> EarlyTtls(const Fleet& fleet, milliseconds slack);

}  // namespace weir::dynamo
