// The properties that every run of a SlotFleet must have, checked on the table's stream.
#pragma once

#include <string>
#include <vector>

#include "tests/simulation/slot_fleet.h"

namespace weir::simulation {

/// Returns a message for each of these violations:
/// - by true time, more slots of a key were held than the limit of the claim that took the last
///   one;
/// - a slot was deleted more than `allowance` before it expired, and no process released it by its
///   id or its resource id;
/// - a claim was refused although at no instant while it was in flight its limit was filled by
///   slots that were held, or had expired at most `allowance` before the request.
std::vector<std::string> BrokenPromises(const SlotFleet& fleet, milliseconds allowance);

}  // namespace weir::simulation
