// What was used in a window of time.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "weir/base/time.h"

namespace weir {

enum class UsageWindow { kHourly, kDaily, kMonthly };

/// "hourly", "daily", "monthly".
std::string_view Name(UsageWindow window);
std::optional<UsageWindow> UsageWindowNamed(std::string_view name);

/// The first instant after a window that begins at `start`, in UTC.
UnixMillis EndOf(UsageWindow window, UnixMillis start);

/// The use of one entity on one resource in one window.
struct UsageSnapshot {
  std::string entity;
  std::string resource;
  UsageWindow window = UsageWindow::kHourly;
  UnixMillis start;
  std::map<std::string, std::int64_t, std::less<>> used;  ///< whole tokens by limit
  /// How often a soft limit was left in debt.
  std::map<std::string, std::int64_t, std::less<>> overdrawn;
  std::int64_t events = 0;  ///< changes of limits: a request on two limits is two

  friend bool operator==(const UsageSnapshot&, const UsageSnapshot&) = default;
};

/// The snapshots that hold in all that is given.
struct UsageFilter {
  std::optional<std::string> entity;
  std::optional<std::string> resource;
  std::optional<UsageWindow> window;
  std::optional<UnixMillis> from;   ///< starts then or later
  std::optional<UnixMillis> until;  ///< starts then or earlier
};
bool Matches(const UsageFilter& filter, const UsageSnapshot& snapshot);

/// Many snapshots in one. Those of different windows overlap: give those of one.
struct UsageSummary {
  struct Limit {
    std::int64_t used = 0;
    std::int64_t snapshots = 0;  ///< in which the limit was used

    friend bool operator==(const Limit&, const Limit&) = default;
  };
  std::map<std::string, Limit, std::less<>> limits;
  std::int64_t snapshots = 0;
  std::optional<UnixMillis> first;  ///< earliest start
  std::optional<UnixMillis> last;   ///< latest start
};
UsageSummary Summarize(std::span<const UsageSnapshot> snapshots);

}  // namespace weir
