// The pairs of entity and resource that used most of a limit in one window.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "apps/weir/terminal/json.h"
#include "weir/model/usage.h"

namespace weir::app {

/// Ranks the snapshots of one window. Keeps at most `count` of them.
class UsageTop {
 public:
  /// REQUIRES: count > 0.
  UsageTop(std::string limit, std::size_t count) : limit_(std::move(limit)), count_(count) {}

  /// Adds a snapshot of the window, unless it lacks the limit. Each pair must be added once.
  void Add(const UsageSnapshot& snapshot);

  struct Window {
    UsageWindow kind = UsageWindow::kHourly;
    UnixMillis start;
  };
  /// Returns {"limit", "window", "start", "used", "pairs", "top": [{"entity", "resource",
  /// "used"}]}: the sum and the number of all pairs, and the pairs with the highest use first;
  /// equal ones in the order of their names.
  Json ToJson(const Window& window) const;
  std::string Text(const Window& window) const;

 private:
  struct Use {
    std::int64_t used = 0;
    std::string entity;
    std::string resource;
  };
  struct HighestFirst {
    bool operator()(const Use& a, const Use& b) const {
      return std::tie(b.used, a.entity, a.resource) < std::tie(a.used, b.entity, b.resource);
    }
  };

  const std::string limit_;
  const std::size_t count_;
  std::set<Use, HighestFirst> highest_;
  UsageSummary all_;
};

}  // namespace weir::app
