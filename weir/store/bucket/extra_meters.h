// The extra meters of one bucket, for limits that are not configured, and how they are added and
// removed.
// Mechanism: docs/design/store.md.
#pragma once

#include <cstddef>
#include <string_view>

#include "weir/base/time.h"
#include "weir/model/limit.h"
#include "weir/store/bucket/bucket_store.h"

namespace weir {

/// Returns the meter of this name; null if there is none or `extras` is null.
const ExtraMeter* FindExtra(const ExtraMeters* extras, std::string_view name);

/// Returns the meter of a limit that is not configured, refilled to `now` under its stored
/// parameters; or, if it is full at `now`, under those of `limit`. If there is no meter, returns
/// the one with which the limit starts. `extras` may be null.
ExtraMeter ExtraOf(const ExtraMeters* extras, const Limit& limit, UnixMillis now);

/// Like ExtraOf, but also removes the meter from `extras`.
ExtraMeter WithdrawExtra(ExtraMeters& extras, const Limit& limit, UnixMillis now);

/// Removes the meters that are full at `now`. Returns true if there were any.
bool RemoveFullMeters(ExtraMeters& extras, UnixMillis now);

/// Removes meters until at most `count` are left: first all full ones, then repeatedly the one
/// nearest to full that is not in debt, and only if all are in debt, the one nearest to full.
void ReduceTo(ExtraMeters& extras, std::size_t count, UnixMillis now);

/// Returns true if the balance at `now` is negative.
bool IsInDebt(const ExtraMeter& extra, UnixMillis now);

/// Returns the time from `last_left` until the last of the meters that were removed early would be
/// full. At most kLongestWait, whatever is stored; 0 or less if there are none.
milliseconds LeftFullIn(const ExtraMeters& extras);

/// Returns the time at which every meter is full, and every meter that was removed early would be.
UnixMillis FullAt(const ExtraMeters& extras);

}  // namespace weir
