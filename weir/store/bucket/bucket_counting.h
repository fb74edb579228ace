// Counts the changes of a bucket as its use. Mechanism: docs/design/usage.md.
#pragma once

#include "weir/base/time.h"
#include "weir/store/bucket/bucket_state.h"
#include "weir/store/bucket/charge.h"

namespace weir {

/// Counts a charge that Take or Adjust has just made at `now`: each amount that is not 0 is an
/// event, and an overdraft if it took tokens and left a debt.
void CountUse(BucketState& state, const Charge& charge, UnixMillis now);

/// Returns the use of such a charge on a bucket that does not exist. REQUIRES: no amount is
/// positive.
HourOfUse UseOfReturn(const Charge& charge, UnixMillis now);

}  // namespace weir
