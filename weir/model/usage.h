// The tokens that were used in a window of time.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/api.h"
#include "weir/base/result.h"
#include "weir/base/time.h"

namespace weir {

enum class UsageWindow { kHourly, kDaily, kMonthly };

/// Returns "hourly", "daily" or "monthly".
WEIR_API std::string_view Name(UsageWindow window);
WEIR_API std::optional<UsageWindow> UsageWindowNamed(std::string_view name);
/// Parses a list of these names, separated by commas: "hourly,daily". Fails with kInvalidArgument
/// if a word is not such a name; the message contains the word.
[[nodiscard]] WEIR_API Result<std::vector<UsageWindow>> ParseUsageWindows(std::string_view text);

/// Returns the first instant of the window that contains `at`, in UTC.
WEIR_API UnixMillis StartOf(UsageWindow window, UnixMillis at);

/// Returns the first instant after a window that begins at `start`, in UTC.
WEIR_API UnixMillis EndOf(UsageWindow window, UnixMillis start);

/// Counts the use of limits whose names are not counted apart, because usage already has as many
/// names as its store keeps: callers may give each request limits of other names. No limit has this
/// name.
inline constexpr std::string_view kOtherLimits = "*";
/// Fails with kInvalidArgument unless `name` is that of a limit, or kOtherLimits.
[[nodiscard]] WEIR_API Status CheckUsageLimit(std::string_view name);

/// Numbers by the names of limits, or kOtherLimits.
using UsageCounters = std::map<std::string, std::int64_t, std::less<>>;

/// The use of one entity on one resource in one window.
struct UsageSnapshot {
  std::string entity;
  std::string resource;
  UsageWindow window = UsageWindow::kHourly;
  UnixMillis start;
  UsageCounters used;  ///< whole tokens by limit name
  /// The number of changes that took tokens and left the limit in debt, by limit name.
  UsageCounters overdrawn;
  std::int64_t events = 0;  ///< changes of balances: a request on two limits counts as two
  /// The counts may be those of several windows that begin at `start`: zae-limiter's aggregator
  /// stores the hour at 00:00, its day and, on the first, its month in one item. `window` is then
  /// one of them.
  bool mixed = false;

  friend bool operator==(const UsageSnapshot&, const UsageSnapshot&) = default;
};

/// A span of time whose usage may be incomplete, because changes were lost before they were
/// counted.
struct UncountedTime {
  UnixMillis from;
  UnixMillis until;

  friend bool operator==(const UncountedTime&, const UncountedTime&) = default;
};

/// The first such spans within a longer time, in the order of their ends.
struct UncountedTimes {
  std::vector<UncountedTime> spans;
  bool has_more = false;  ///< there are more spans
};

/// Selects the snapshots that match all fields that are set. A mixed snapshot matches each kind of
/// window that begins at its start.
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
/// Adds one more snapshot. A sum that does not fit in 64 bits stays at the largest or smallest
/// number.
WEIR_API void Add(UsageSummary& summary, const UsageSnapshot& snapshot);

}  // namespace weir
