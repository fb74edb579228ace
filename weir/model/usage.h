// The tokens that were used in a window of time.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "weir/base/api.h"
#include "weir/base/time.h"

namespace weir {

enum class UsageWindow { kHourly, kDaily, kMonthly };

/// Returns "hourly", "daily" or "monthly".
WEIR_API std::string_view Name(UsageWindow window);
WEIR_API std::optional<UsageWindow> UsageWindowNamed(std::string_view name);

/// Returns the first instant after a window that begins at `start`, in UTC.
WEIR_API UnixMillis EndOf(UsageWindow window, UnixMillis start);

/// The use of one entity on one resource in one window.
struct UsageSnapshot {
  std::string entity;
  std::string resource;
  UsageWindow window = UsageWindow::kHourly;
  UnixMillis start;
  std::map<std::string, std::int64_t, std::less<>> used;  ///< whole tokens by limit name
  /// The number of times that a soft limit was left in debt, by limit name.
  std::map<std::string, std::int64_t, std::less<>> overdrawn;
  std::int64_t events = 0;  ///< changes of limits: a request on two limits counts as two

  friend bool operator==(const UsageSnapshot&, const UsageSnapshot&) = default;
};

/// Selects the snapshots that match all fields that are set.
struct UsageFilter {
  std::optional<std::string> entity;
  std::optional<std::string> resource;
  std::optional<UsageWindow> window;
  std::optional<UnixMillis> from;   ///< the window starts at this time or later
  std::optional<UnixMillis> until;  ///< the window starts at this time or earlier
};
WEIR_API bool Matches(const UsageFilter& filter, const UsageSnapshot& snapshot);

/// The sum of several snapshots. The snapshots should have one kind of window: windows of different
/// kinds overlap, so that a use would be counted twice.
struct UsageSummary {
  struct Limit {
    std::int64_t used = 0;
    std::int64_t snapshots = 0;  ///< the number of snapshots in which the limit was used

    friend bool operator==(const Limit&, const Limit&) = default;
  };
  std::map<std::string, Limit, std::less<>> limits;
  std::int64_t snapshots = 0;
  std::optional<UnixMillis> first;  ///< the earliest start
  std::optional<UnixMillis> last;   ///< the latest start
};
WEIR_API UsageSummary Summarize(std::span<const UsageSnapshot> snapshots);

}  // namespace weir
