// The meters of one bucket that resolution does not name, and how they come and go.
// Mechanism: docs/design/store.md.
#pragma once

#include <cstddef>
#include <string_view>

#include "weir/base/time.h"
#include "weir/model/limit.h"
#include "weir/store/bucket_store.h"

namespace weir {

/// Null if there is none of this name, or `extras` is null.
const ExtraMeter* FindExtra(const ExtraMeters* extras, std::string_view name);

/// The meter of a limit that is not configured: refilled to `now`, under its own parameters; or
/// what the limit starts with if there is none. `extras` may be null.
ExtraMeter ExtraOf(const ExtraMeters* extras, const Limit& limit, UnixMillis now);

/// The same, taken out of `extras`.
ExtraMeter WithdrawExtra(ExtraMeters& extras, const Limit& limit, UnixMillis now);

/// True if there were any.
bool RemoveFullMeters(ExtraMeters& extras, UnixMillis now);

/// Removes meters until at most `count` are left: full ones, then the one nearest to full that is
/// not in debt, and only then, of those in debt, the one nearest to full.
void ReduceTo(ExtraMeters& extras, std::size_t count, UnixMillis now);

bool IsInDebt(const ExtraMeter& extra, UnixMillis now);

/// How long after `last_left` the last of those that left early would have been full. At most
/// kLongestWait, whatever is stored; not above 0 if there are none.
milliseconds LeftFullIn(const ExtraMeters& extras);

/// When every meter is full, and so would be those that left early.
UnixMillis FullAt(const ExtraMeters& extras);

}  // namespace weir
