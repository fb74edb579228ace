#include "apps/weir/replay/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <vector>

#include "apps/weir/terminal/text.h"

namespace weir::app {
namespace {

constexpr std::int64_t kColumns = 80;
constexpr int kRows = 12;
constexpr std::array<std::string_view, 9> kBlocks = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr std::string_view kLine = "─";

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

/// Returns the smallest round number that is not below `value`.
double RoundUp(double value) {
  const double power = std::pow(10, std::floor(std::log10(std::max(value, 1.0))));
  for (const double step : {1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0}) {
    if (value <= step * power) return step * power;
  }
  return 10 * power;
}

std::string CellText(double value, double low, double step) {
  const double eighths = std::floor((value - low) / step * 8);
  return std::string(kBlocks[static_cast<std::size_t>(std::clamp(eighths, 0.0, 8.0))]);
}

std::string RowText(const Bins& bins, bool has_line, double low, double step) {
  std::string text;
  for (const double value : bins.per_minute) {
    std::string cell = CellText(value, low, step);
    text += has_line && cell == kBlocks[0] ? kLine : cell;
  }
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

}  // namespace

std::string Plot(std::span<const PlotPoint> points, std::int64_t limit_per_minute) {
  const Bins bins = BinsOf(points);
  const double limit = static_cast<double>(limit_per_minute) / 1000;
  const double highest = *std::max_element(bins.per_minute.begin(), bins.per_minute.end());
  const double top = RoundUp(std::max(highest, limit * 1.05));
  const double step = top / kRows;
  std::string text = fmt::format("tokens per minute, each column {}, the line at {}\n",
                                 FormatSeconds(bins.width), FormatTokens(limit_per_minute));
  for (int row = kRows - 1; row >= 0; --row) {
    const bool has_line = limit >= row * step && limit < (row + 1) * step;
    const std::string label = row == kRows - 1 ? fmt::format("{:.0f}", top) : "";
    text += fmt::format("{:>12} |{}\n", has_line ? "limit" : label,
                        RowText(bins, has_line, row * step, step));
  }
  const std::string end = FormatTime(bins.start + bins.width * bins.per_minute.size());
  text += fmt::format("{:>12} +{}\n", 0, std::string(bins.per_minute.size(), '-'));
  return text + fmt::format("{:>12}  {} to {}\n", "", FormatTime(bins.start), end);
}

}  // namespace weir::app
