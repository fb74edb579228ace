// The capacity that remains for the bucket of a limit with an allowance.
#pragma once

#include <cstdint>
#include <vector>

#include "weir/model/limit.h"

namespace weir {

/// Returns the limits that buckets enforce. For a limit with an allowance of E, the capacity is
/// reduced by the tokens that its rate refills in E. If less than half of the capacity, or less
/// than one token, would remain, the capacity is unchanged and the allowance becomes 0. REQUIRES:
/// Validate(limits).
std::vector<Limit> ReserveAllowance(std::vector<Limit> limits);
/// Returns the millitokens by which ReserveAllowance reduced the capacity of `limit`, one of the
/// limits that it returned.
std::int64_t ReservedFor(const Limit& limit);
/// Returns the millitokens that the rate refills in `time`, rounded up; at most kMaxMillitokens.
std::int64_t RateTimes(const Quota& quota, milliseconds time);

}  // namespace weir
