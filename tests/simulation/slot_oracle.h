// What must be true of every run of a SlotFleet, read from the table's own stream.
#pragma once

#include <string>
#include <vector>

#include "tests/simulation/slot_fleet.h"

namespace weir::simulation {

/// A message for each of these that happened:
/// - by true time more slots of a key were held than the claim that took the last one allowed;
/// - a slot was deleted before its time, and nobody asked for it by its id or its resource id;
/// - a claim was refused although at no instant while it was under way the slots that were held, or
///   had run out no longer than `allowance` before it was asked, filled its limit.
std::vector<std::string> BrokenPromises(const SlotFleet& fleet, milliseconds allowance);

}  // namespace weir::simulation
