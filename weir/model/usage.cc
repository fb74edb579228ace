#include "weir/model/usage.h"

#include <algorithm>
#include <chrono>

namespace weir {

std::string_view Name(UsageWindow window) {
  switch (window) {
    case UsageWindow::kHourly:
      return "hourly";
    case UsageWindow::kDaily:
      return "daily";
    case UsageWindow::kMonthly:
      return "monthly";
  }
  return "";
}

std::optional<UsageWindow> UsageWindowNamed(std::string_view name) {
  for (const UsageWindow window :
       {UsageWindow::kHourly, UsageWindow::kDaily, UsageWindow::kMonthly}) {
    if (Name(window) == name) return window;
  }
  return std::nullopt;
}

UnixMillis EndOf(UsageWindow window, UnixMillis start) {
  if (window == UsageWindow::kHourly) return start + std::chrono::hours(1);
  if (window == UsageWindow::kDaily) return start + std::chrono::hours(24);
  const std::chrono::sys_time<milliseconds> at{milliseconds(start.value)};
  const std::chrono::year_month_day date(std::chrono::floor<std::chrono::days>(at));
  const std::chrono::sys_days next = (date.year() / date.month() + std::chrono::months(1)) / 1;
  return {milliseconds(next.time_since_epoch()).count()};
}

bool Matches(const UsageFilter& filter, const UsageSnapshot& snapshot) {
  return (!filter.entity || *filter.entity == snapshot.entity) &&
         (!filter.resource || *filter.resource == snapshot.resource) &&
         (!filter.window || *filter.window == snapshot.window) &&
         (!filter.from || *filter.from <= snapshot.start) &&
         (!filter.until || *filter.until >= snapshot.start);
}

UsageSummary Summarize(std::span<const UsageSnapshot> snapshots) {
  UsageSummary summary;
  for (const UsageSnapshot& snapshot : snapshots) {
    for (const auto& [limit, used] : snapshot.used) {
      UsageSummary::Limit& total = summary.limits[limit];
      total.used += used;
      ++total.snapshots;
    }
    ++summary.snapshots;
    summary.first = std::min(summary.first.value_or(snapshot.start), snapshot.start);
    summary.last = std::max(summary.last.value_or(snapshot.start), snapshot.start);
  }
  return summary;
}

}  // namespace weir
