#include "weir/store/usage/usage_metrics.h"

namespace weir {

Status RegisterUsageMetrics(Registry& registry, const std::function<UsageStats()>& stats) {
  WEIR_RETURN_IF_ERROR(registry.AddGauge(
      {.name = "weir_usage_rows", .help = "Usage snapshots of hours, days and months."},
      [stats] { return static_cast<double>(stats().kept); }));
  WEIR_RETURN_IF_ERROR(registry.AddCounter(
      {.name = "weir_usage_rows_expired_total", .help = "Usage snapshots removed for their age."},
      [stats] { return stats().expired; }));
  WEIR_RETURN_IF_ERROR(
      registry.AddCounter({.name = "weir_usage_rows_evicted_total",
                           .help = "Usage snapshots removed because there were too many."},
                          [stats] { return stats().evicted; }));
  return registry.AddCounter(
      {.name = "weir_usage_lost_total",
       .help = "Times that ended hours of a bucket were dropped, because the usage is damaged."},
      [stats] { return stats().lost; });
}

}  // namespace weir
