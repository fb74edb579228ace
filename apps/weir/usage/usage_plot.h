// The use of each limit over time, drawn with characters.
#pragma once

#include <map>
#include <string>

#include "apps/weir/terminal/json.h"
#include "weir/base/result.h"
#include "weir/model/usage.h"

namespace weir::app {

/// The sums of snapshots in each window.
class UsagePlot {
 public:
  /// The largest number of windows with snapshots. A year has at most 8784 hours.
  static constexpr std::size_t kMaxWindows = 100'000;

  /// REQUIRES: the snapshots to add have this kind of window.
  explicit UsagePlot(UsageWindow window) : window_(window) {}

  /// Adds the snapshot to the sums of its window. Returns kResourceExhausted if it would be the
  /// first of too many windows.
  [[nodiscard]] Status Add(const UsageSnapshot& snapshot);

  /// Returns {"window", "limits": [{"name", "used": [{"start", "used"}]}]}: the windows in which
  /// the limit was used, in order of time.
  Json ToJson() const;
  /// Returns one chart for each limit, all of the same time. A column is a window, or the average
  /// of several windows, so that there are at most kChartColumns. A window without a snapshot
  /// counts as 0.
  std::string Text() const;

 private:
  /// Returns the number of windows from the first one to the one that begins at `start`.
  std::size_t IndexOf(UnixMillis start) const;
  std::string ChartOf(const std::string& limit) const;

  const UsageWindow window_;
  std::map<UnixMillis, UsageSummary> windows_;  // keyed by their start
  UsageSummary all_;
};

}  // namespace weir::app
