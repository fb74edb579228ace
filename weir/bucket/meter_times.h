// Meters that have a time of their own, beside those of a bucket that share one.
// Mechanism: docs/design/bucket.md.
#pragma once

#include "weir/bucket/bucket.h"

namespace weir {

/// Refills a meter that is refilled up to `since`. No effect if now <= since.
void Refill(Meter& meter, UnixMillis since, UnixMillis now);

/// A meter that is full in `left` if nothing is taken; an empty one if its own rate takes longer
/// than that for the capacity. Rounded down: never more than capacity - rate * left.
/// REQUIRES: Validate(quota).
Meter MeterFullIn(const Quota& quota, milliseconds left);

/// The least balance, debt included, from which a meter is full in `left` or earlier; at least
/// -kMaxDebt. REQUIRES: Validate(quota).
std::int64_t LeastFullIn(const Quota& quota, milliseconds left);

/// When a meter that is refilled up to `time` is at its capacity if nothing is taken.
UnixMillis FullAt(const Meter& meter, UnixMillis time);

}  // namespace weir
