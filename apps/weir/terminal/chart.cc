#include "apps/weir/terminal/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

namespace weir::app {
namespace {

constexpr int kRows = 12;
constexpr std::array<std::string_view, 9> kBlocks = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr std::string_view kLine = "─";

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

/// One row of a chart: the numbers from `low` on, for `step`.
struct ChartRow {
  double low = 0;
  double step = 0;
  bool has_line = false;
};

std::string TextOf(const ChartRow& row, std::span<const double> columns) {
  std::string text;
  for (const double value : columns) {
    std::string cell = CellText(value, row.low, row.step);
    text += row.has_line && cell == kBlocks[0] ? kLine : cell;
  }
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

}  // namespace

std::string Draw(const Chart& chart) {
  const double highest = *std::max_element(chart.columns.begin(), chart.columns.end());
  const double top = RoundUp(std::max(highest, chart.line.value_or(0) * 1.05));
  const double step = top / kRows;
  std::string text;
  for (int at = kRows - 1; at >= 0; --at) {
    ChartRow row{.low = at * step, .step = step};
    row.has_line = chart.line && *chart.line >= row.low && *chart.line < (at + 1) * step;
    const std::string label = at == kRows - 1 ? fmt::format("{:.0f}", top) : "";
    text += fmt::format("{:>12} |{}\n", row.has_line ? "limit" : label, TextOf(row, chart.columns));
  }
  return text + fmt::format("{:>12} +{}\n", 0, std::string(chart.columns.size(), '-'));
}

std::string UnderChart(const std::string& text) { return fmt::format("{:>12}  {}\n", "", text); }

}  // namespace weir::app
