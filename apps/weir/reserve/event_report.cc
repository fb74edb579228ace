#include "apps/weir/reserve/event_report.h"

#include <fmt/format.h>

#include "apps/weir/terminal/json.h"
#include "weir/events/event_metrics.h"

namespace weir::app {
namespace {

Json NumbersOf(const EventReleaserStats& stats) {
  return {{"seen", stats.seen},
          {"bad", stats.bad},
          {"matched", stats.matched},
          {"without_id", stats.without_id},
          {"released", stats.release.released},
          {"slots", stats.release.slots},
          {"failed", stats.release.failed + stats.release.refused}};
}

std::string TextOf(const EventReleaserStats& stats) {
  return fmt::format(
      "{} events, {} of them invalid; {} report an end, {} lack an id, {} slots "
      "released\n",
      stats.seen, stats.bad, stats.matched, stats.without_id, stats.release.slots);
}

Result<std::string> MetricsOf(const EventReading& reading) {
  Registry registry;
  WEIR_RETURN_IF_ERROR(RegisterMetrics(registry, reading.releaser));
  if (reading.source != nullptr) {
    WEIR_RETURN_IF_ERROR(RegisterMetrics(registry, *reading.source));
  }
  return registry.Text();
}

std::string WarningOf(const EventReading& reading, const FailureTally& failures) {
  if (failures.count == 0) return std::string(reading.unread);
  return fmt::format("{}{}{} events were not dealt with, the first: {}", reading.unread,
                     reading.unread.empty() ? "" : "; ", failures.count, failures.first);
}

}  // namespace

Result<Exit> ReportEvents(Context& context, const EventReading& reading,
                          const FailureTally& failures) {
  const EventReleaserStats stats = reading.releaser.stats();
  Json json = NumbersOf(stats);
  std::string text = TextOf(stats);
  if (reading.metrics) {
    WEIR_ASSIGN_OR_RETURN(std::string metrics, MetricsOf(reading));
    text += '\n' + metrics;
    json["metrics"] = std::move(metrics);
  }
  context.WriteResult(json, text);
  const std::string warning = WarningOf(reading, failures);
  if (warning.empty()) return Exit::kDone;
  context.Warn(warning);
  return Exit::kFailed;
}

}  // namespace weir::app
