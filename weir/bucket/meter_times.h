// Meters that each have their own time, in contrast to those of a bucket, which share one.
// Mechanism: docs/design/bucket.md.
#pragma once

#include "weir/bucket/bucket.h"

namespace weir {

/// Refills a meter from `since` to `now`. REQUIRES: the meter is refilled to `since`. No effect if
/// now <= since.
void Refill(Meter& meter, UnixMillis since, UnixMillis now);

/// Returns a meter that is full in `left` if no tokens are taken, or an empty one if its rate needs
/// less than `left` for the capacity. The balance is rounded down: never more than capacity - rate
/// * left. REQUIRES: Validate(quota).
Meter MeterFullIn(const Quota& quota, milliseconds left);

/// Returns the least balance, debt included, from which a meter is full in `left` or earlier; at
/// least -kMaxDebt. REQUIRES: Validate(quota).
std::int64_t LeastFullIn(const Quota& quota, milliseconds left);

/// Returns the time at which a meter that is refilled to `time` is at its capacity if no tokens are
/// taken.
UnixMillis FullAt(const Meter& meter, UnixMillis time);

}  // namespace weir
