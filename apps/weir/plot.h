// A rate over time, drawn with characters.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "weir/base/time.h"

namespace weir::app {

/// So many millitokens at an instant; negative: given back.
struct PlotPoint {
  UnixMillis at;
  std::int64_t amount = 0;
};

/// Columns of blocks for the rate per minute in equal parts of the time, and a line at
/// `limit_per_minute`. At most 100 columns wide, in UTF-8. REQUIRES: points, in order of time.
std::string Plot(std::span<const PlotPoint> points, std::int64_t limit_per_minute);

}  // namespace weir::app
