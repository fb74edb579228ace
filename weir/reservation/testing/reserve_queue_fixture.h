// Definitions that the tests of ReserveQueue share.
#pragma once

#include <cstdint>

#include "weir/reservation/reserve_queue.h"

namespace weir {

using Verdict = ReserveQueue::Verdict;

inline constexpr Instant kForEver{INT64_MAX};
inline const AccountKey kA{"emr", "a"};
inline const AccountKey kB{"emr", "b"};

}  // namespace weir
