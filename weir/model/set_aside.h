// The capacity that an allowance leaves to its bucket.
#pragma once

#include <cstdint>
#include <vector>

#include "weir/model/limit.h"

namespace weir {

/// The limits by which buckets work. Where a limit has an allowance of E, what its rate brings in E
/// is taken off its capacity. Where that would leave less than half of the capacity, or less than a
/// token, the limit stays as it is and its allowance is 0. REQUIRES: Validate(limits).
std::vector<Limit> SetAside(std::vector<Limit> limits);
/// What SetAside took off this limit. Millitokens.
std::int64_t AsideOf(const Limit& limit);
/// The tokens that the rate refills in this time, rounded up. Millitokens.
std::int64_t RateTimes(const Quota& quota, milliseconds time);

}  // namespace weir
