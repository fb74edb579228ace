// Draws a rate over time with characters.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "weir/base/time.h"

namespace weir::app {

/// An amount of millitokens at an instant; negative: returned.
struct PlotPoint {
  UnixMillis at;
  std::int64_t amount = 0;
};

/// Draws the rate per minute in at most kChartColumns equal intervals as columns of blocks (UTF-8),
/// and a line at `limit_per_minute`. REQUIRES: points is not empty and in order of time.
std::string Plot(std::span<const PlotPoint> points, std::int64_t limit_per_minute);

}  // namespace weir::app
