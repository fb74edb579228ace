// Draws numbers as columns of characters.
#pragma once

#include <optional>
#include <span>
#include <string>

namespace weir::app {

/// The largest number of columns that fits into a terminal, next to the labels.
inline constexpr std::size_t kChartColumns = 80;

struct Chart {
  std::span<const double> columns;  ///< not empty; numbers below 0 are drawn as 0
  std::optional<double> line{};     ///< a horizontal line with the label "limit"
};

/// Returns twelve rows of blocks in UTF-8 over an axis, with the number at the end of the scale,
/// each row 14 characters wider than the columns.
std::string Draw(const Chart& chart);

/// Returns a line that is indented like the columns.
std::string UnderChart(const std::string& text);

}  // namespace weir::app
