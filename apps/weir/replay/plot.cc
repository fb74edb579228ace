#include "apps/weir/replay/plot.h"

#include <fmt/format.h>

#include <vector>

#include "apps/weir/terminal/chart.h"
#include "apps/weir/terminal/text.h"

namespace weir::app {
namespace {

constexpr auto kColumns = static_cast<std::int64_t>(kChartColumns);

/// Equal intervals of time, each a whole number of seconds long.
struct Bins {
  UnixMillis start;
  milliseconds width{0};
  std::vector<double> per_minute{};  ///< tokens
};

Bins BinsOf(std::span<const PlotPoint> points) {
  Bins bins{.start = points.front().at};
  const std::int64_t span = (points.back().at - bins.start).count() + 1;
  const std::int64_t seconds = (span + kColumns * 1000 - 1) / (kColumns * 1000);
  bins.width = std::chrono::seconds(seconds);
  const std::int64_t count = (span + bins.width.count() - 1) / bins.width.count();
  bins.per_minute.resize(static_cast<std::size_t>(count));
  for (const PlotPoint& point : points) {
    const auto bin = static_cast<std::size_t>((point.at - bins.start) / bins.width);
    bins.per_minute[bin] +=
        static_cast<double>(point.amount) / 1000 * 60 / static_cast<double>(seconds);
  }
  return bins;
}

}  // namespace

std::string Plot(std::span<const PlotPoint> points, std::int64_t limit_per_minute) {
  const Bins bins = BinsOf(points);
  const std::string end = FormatTime(bins.start + bins.width * bins.per_minute.size());
  const Chart chart{.columns = bins.per_minute,
                    .line = static_cast<double>(limit_per_minute) / 1000};
  return fmt::format("tokens per minute, each column {}, the line at {}\n",
                     FormatSeconds(bins.width), FormatTokens(limit_per_minute)) +
         Draw(chart) + UnderChart(fmt::format("{} to {}", FormatTime(bins.start), end));
}

}  // namespace weir::app
