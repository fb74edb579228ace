// Meters that each have their own time, in contrast to those of a bucket, which share one.
// Mechanism: docs/design/bucket.md.
#pragma once

#include "weir/bucket/bucket.h"

namespace weir {

/// Refills a meter from `since` to `now`. REQUIRES: the meter is refilled to `since`. No effect if
/// now <= since.
void Refill(Meter& meter, UnixMillis since, UnixMillis now);

/// Returns a meter that becomes full after `wait` if no tokens are taken, or an empty meter if an
/// empty one becomes full earlier. The balance is exactly capacity - rate * wait, or 0 if that is
/// negative. REQUIRES: Validate(quota).
Meter MeterFullIn(const Quota& quota, milliseconds wait);

/// Returns the smallest balance (negative: debt) from which a meter becomes full after `wait` or
/// earlier; at least -kMaxDebt. REQUIRES: Validate(quota).
std::int64_t LeastFullIn(const Quota& quota, milliseconds wait);

/// Returns the time at which a meter that is refilled to `time` is at its capacity if no tokens are
/// taken.
UnixMillis FullAt(const Meter& meter, UnixMillis time);

}  // namespace weir
