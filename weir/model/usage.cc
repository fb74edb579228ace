#include "weir/model/usage.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>

#include "weir/model/identifier.h"

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

Status CheckUsageLimit(std::string_view name) {
  return name == kOtherLimits ? Status() : CheckLimitName(name);
}

std::optional<UsageWindow> UsageWindowNamed(std::string_view name) {
  for (const UsageWindow window :
       {UsageWindow::kHourly, UsageWindow::kDaily, UsageWindow::kMonthly}) {
    if (Name(window) == name) return window;
  }
  return std::nullopt;
}

Result<std::vector<UsageWindow>> ParseUsageWindows(std::string_view text) {
  std::vector<UsageWindow> windows;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view name = text.substr(begin, end - begin);
    const auto window = UsageWindowNamed(name);
    if (!window) {
      return Fail(Code::kInvalidArgument,
                  fmt::format("unknown window '{}'; expected hourly, daily or monthly", name));
    }
    windows.push_back(*window);
    begin = end + 1;
  }
  return windows;
}

UnixMillis StartOf(UsageWindow window, UnixMillis at) {
  const std::chrono::sys_time<milliseconds> time{milliseconds(at.value)};
  if (window == UsageWindow::kHourly) {
    return {milliseconds(std::chrono::floor<std::chrono::hours>(time).time_since_epoch()).count()};
  }
  const auto day = std::chrono::floor<std::chrono::days>(time);
  if (window == UsageWindow::kDaily) return {milliseconds(day.time_since_epoch()).count()};
  const std::chrono::year_month_day date(day);
  const std::chrono::sys_days first = date.year() / date.month() / 1;
  return {milliseconds(first.time_since_epoch()).count()};
}

UnixMillis EndOf(UsageWindow window, UnixMillis start) {
  if (window == UsageWindow::kHourly) return start + std::chrono::hours(1);
  if (window == UsageWindow::kDaily) return start + std::chrono::hours(24);
  const std::chrono::sys_time<milliseconds> at{milliseconds(start.value)};
  const std::chrono::year_month_day date(std::chrono::floor<std::chrono::days>(at));
  const std::chrono::sys_days next = (date.year() / date.month() + std::chrono::months(1)) / 1;
  return {milliseconds(next.time_since_epoch()).count()};
}

namespace {

bool IsOfWindow(const UsageSnapshot& snapshot, UsageWindow window) {
  if (!snapshot.mixed) return snapshot.window == window;
  return StartOf(window, snapshot.start) == snapshot.start;
}

}  // namespace

bool Matches(const UsageFilter& filter, const UsageSnapshot& snapshot) {
  return (!filter.entity || *filter.entity == snapshot.entity) &&
         (!filter.resource || *filter.resource == snapshot.resource) &&
         (!filter.window || IsOfWindow(snapshot, *filter.window)) &&
         (!filter.from || *filter.from <= snapshot.start) &&
         (!filter.until || *filter.until >= snapshot.start);
}

namespace {

void AddSaturated(std::int64_t& sum, std::int64_t more) {
  using Numbers = std::numeric_limits<std::int64_t>;
  if (__builtin_add_overflow(sum, more, &sum)) sum = more > 0 ? Numbers::max() : Numbers::min();
}

}  // namespace

UsageSummary Summarize(std::span<const UsageSnapshot> snapshots) {
  UsageSummary summary;
  for (const UsageSnapshot& snapshot : snapshots) Add(summary, snapshot);
  return summary;
}

void Add(UsageSummary& summary, const UsageSnapshot& snapshot) {
  for (const auto& [limit, used] : snapshot.used) {
    UsageSummary::Limit& total = summary.limits[limit];
    AddSaturated(total.used, used);
    ++total.snapshots;
  }
  ++summary.snapshots;
  summary.first = std::min(summary.first.value_or(snapshot.start), snapshot.start);
  summary.last = std::max(summary.last.value_or(snapshot.start), snapshot.start);
}

}  // namespace weir
