// Turns hours of use into the snapshots of hours, days and months, and decides which snapshots are
// kept. Mechanism: docs/design/usage.md.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weir/model/usage.h"
#include "weir/store/bucket/bucket_key.h"
#include "weir/store/usage/bucket_use.h"

namespace weir {

inline constexpr std::array kUsageWindows = {UsageWindow::kHourly, UsageWindow::kDaily,
                                             UsageWindow::kMonthly};

/// The number of names in a snapshot or a remainder beyond which further ones count as
/// kOtherLimits. An hour has fewer: its bucket's configured limits and kMaxNamesInHour.
inline constexpr std::size_t kMaxUsageNames = 512;

/// The millitokens, 0 to 999, that are counted but not yet part of a whole token, by limit. There
/// is one map for each entity and resource; limits without a remainder are absent.
using UsageRemainder = std::map<std::string, std::int64_t, std::less<>>;

/// Returns the use of `hours`, which are in the order of time, in whole tokens: one snapshot for
/// each window that contains one of the hours, in the order of the windows. Counters of 0 are
/// omitted. `remainder` contains the remainder of earlier calls, which is added, and receives the
/// new one, so the sum of whole tokens and remainders is exact over all calls. Names and times that
/// no UsageStore lists are dropped with their use.
std::vector<UsageSnapshot> SnapshotsOf(const BucketKey& key, std::span<const HourOfUse> hours,
                                       UsageRemainder& remainder);

/// Adds the counters of `added`, which saturate. Counters that become 0 are removed. If `sum` has
/// kMaxUsageNames names, further ones are added to kOtherLimits.
void AddCounted(UsageSnapshot& sum, const UsageSnapshot& added);

/// How much usage is kept.
struct UsageLimits {
  /// When there are more snapshots, those that ended first are removed.
  std::size_t max_snapshots = 1'000'000;
};

/// The number of snapshots that are kept, and of those that were removed since the store was
/// opened.
struct UsageStats {
  std::uint64_t kept = 0;
  std::uint64_t expired = 0;  ///< removed because of their age
  std::uint64_t evicted = 0;  ///< removed because there were too many
  /// How often the ended hours of a bucket were dropped, because the stored usage is damaged.
  std::uint64_t lost = 0;
};

/// Returns the earliest start of a window that is still kept at `now`. After its end, an hour is
/// kept for 7 days, a day for 90 days, a month for 13 months (of 31 days).
UnixMillis FirstKept(UsageWindow window, UnixMillis now);

/// The earliest start of the snapshots of each window; nothing if there are none.
using OldestUsage = std::array<std::optional<UnixMillis>, kUsageWindows.size()>;

/// Returns the window whose earliest snapshots are to be removed next, because they have expired at
/// `now`; nothing if no snapshot has expired.
std::optional<UsageWindow> NextExpired(const OldestUsage& oldest, UnixMillis now);
/// Returns the window whose earliest snapshot ended first; nothing if there are no snapshots.
std::optional<UsageWindow> NextEvicted(const OldestUsage& oldest);

}  // namespace weir
