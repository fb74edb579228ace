// Usage in the form that `weir usage list` and `summary` print.
#pragma once

#include <map>
#include <string>

#include "apps/weir/terminal/json.h"
#include "weir/base/page.h"
#include "weir/model/usage.h"

namespace weir::app {

/// Returns {"usage", "next"}; the last page has no "next".
Json ToJson(const Page<UsageSnapshot>& page);
std::string TextOf(const Page<UsageSnapshot>& page);

/// The sums of snapshots of one kind of window.
struct UsageTotals {
  UsageWindow window = UsageWindow::kHourly;
  UsageSummary all;
  /// The parts of `all`; empty unless they are to be shown.
  std::map<std::string, UsageSummary> by_resource;
};

/// Returns {"window", "snapshots", "first", "last", "limits": [{"name", "used", "snapshots"}]}, and
/// in "resources" the same of each resource.
Json ToJson(const UsageTotals& totals);
std::string TextOf(const UsageTotals& totals);

}  // namespace weir::app
