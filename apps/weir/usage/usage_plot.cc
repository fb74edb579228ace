#include "apps/weir/usage/usage_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string_view>
#include <vector>

#include "apps/weir/terminal/chart.h"
#include "apps/weir/terminal/text.h"

namespace weir::app {
namespace {

std::string_view UnitOf(UsageWindow window) {
  switch (window) {
    case UsageWindow::kHourly:
      return "hour";
    case UsageWindow::kDaily:
      return "day";
    case UsageWindow::kMonthly:
      break;
  }
  return "month";
}

/// Returns the number of the window since 1970.
std::int64_t NumberOf(UsageWindow window, UnixMillis start) {
  const std::chrono::sys_time<milliseconds> at{milliseconds(start.value)};
  if (window == UsageWindow::kHourly) {
    return std::chrono::floor<std::chrono::hours>(at).time_since_epoch().count();
  }
  const auto day = std::chrono::floor<std::chrono::days>(at);
  if (window == UsageWindow::kDaily) return day.time_since_epoch().count();
  const std::chrono::year_month_day date(day);
  return int{date.year()} * 12 + static_cast<std::int64_t>(unsigned{date.month()});
}

/// Returns how many windows make a column.
std::size_t ColumnWidth(std::size_t windows) {
  return (windows + kChartColumns - 1) / kChartColumns;
}

}  // namespace

Status UsagePlot::Add(const UsageSnapshot& snapshot) {
  if (windows_.size() == kMaxWindows && !windows_.contains(snapshot.start)) {
    return Fail(Code::kResourceExhausted,
                fmt::format("usage of more than {} windows: choose a shorter time by --start and "
                            "--end, or a longer --window",
                            kMaxWindows));
  }
  weir::Add(windows_[snapshot.start], snapshot);
  weir::Add(all_, snapshot);
  return {};
}

Json UsagePlot::ToJson() const {
  Json json = {{"window", Name(window_)}, {"limits", Json::array()}};
  for (const auto& [name, total] : all_.limits) {
    Json& used = json["limits"].emplace_back(Json{{"name", name}})["used"];
    used = Json::array();
    for (const auto& [start, sums] : windows_) {
      const auto limit = sums.limits.find(name);
      if (limit == sums.limits.end()) continue;
      used.push_back({{"start", FormatTime(start)}, {"used", limit->second.used}});
    }
  }
  return json;
}

std::size_t UsagePlot::IndexOf(UnixMillis start) const {
  return static_cast<std::size_t>(NumberOf(window_, start) - NumberOf(window_, *all_.first));
}

std::string UsagePlot::ChartOf(const std::string& limit) const {
  const std::size_t count = IndexOf(*all_.last) + 1;
  const std::size_t width = ColumnWidth(count);
  std::vector<double> columns((count + width - 1) / width);
  for (const auto& [start, sums] : windows_) {
    const auto found = sums.limits.find(limit);
    if (found == sums.limits.end()) continue;
    const std::size_t column = IndexOf(start) / width;
    // The last column may be of fewer windows.
    const std::size_t windows = std::min(width, count - column * width);
    columns[column] += static_cast<double>(found->second.used) / static_cast<double>(windows);
  }
  return Draw({.columns = columns});
}

std::string UsagePlot::Text() const {
  if (windows_.empty()) return "no usage\n";
  const std::string_view unit = UnitOf(window_);
  const std::size_t width = ColumnWidth(IndexOf(*all_.last) + 1);
  const std::string time = UnderChart(
      fmt::format("{} to {}", FormatTime(*all_.first), FormatTime(EndOf(window_, *all_.last))));
  std::string text;
  for (const auto& [limit, total] : all_.limits) {
    text += fmt::format("{} per {}, each column {} {}{}\n{}{}", limit, unit, width, unit,
                        width == 1 ? "" : "s", ChartOf(limit), time);
  }
  return text;
}

}  // namespace weir::app
