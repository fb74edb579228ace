#include "weir/aggregator/daemon/aggregate_metrics.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace weir::dynamo {
namespace {

struct CounterRow {
  const char* name;
  const char* help;
  const char* fate;  ///< the value of the label; null: there is no label
  std::uint64_t AggregateStats::* counter;
};

constexpr const char kRecords[] = "weir_aggregator_records_total";
constexpr const char kRecordsHelp[] =
    "Records of the stream: applied, or skipped because they cannot be counted.";
constexpr const char kDivisions[] = "weir_aggregator_divisions_total";
constexpr const char kDivisionsHelp[] =
    "Divisions of busy buckets: requested (asked); dropped, because too many were in flight.";

constexpr std::array kCounterRows = {
    CounterRow{kRecords, kRecordsHelp, "applied", &AggregateStats::records},
    CounterRow{kRecords, kRecordsHelp, "skipped", &AggregateStats::skipped},
    CounterRow{"weir_aggregator_updates_total", "Updates of usage items.", nullptr,
               &AggregateStats::updates},
    CounterRow{"weir_aggregator_conflicts_total",
               "Updates of usage items that were planned again after another update.", nullptr,
               &AggregateStats::conflicts},
    CounterRow{"weir_aggregator_failed_batches_total", "Failed tries of batches and of gaps.",
               nullptr, &AggregateStats::failed_batches},
    CounterRow{"weir_aggregator_gaps_total", "Spans of time that were stored as incomplete.",
               nullptr, &AggregateStats::gaps},
    CounterRow{"weir_aggregator_refills_total", "Refills of buckets.", nullptr,
               &AggregateStats::refills},
    CounterRow{kDivisions, kDivisionsHelp, "asked", &AggregateStats::divisions},
    CounterRow{kDivisions, kDivisionsHelp, "dropped", &AggregateStats::divisions_dropped},
    CounterRow{
        "weir_aggregator_refused_items_total",
        "Items that were neither refilled nor divided: damaged, or with unsupported features.",
        nullptr, &AggregateStats::refused},
    CounterRow{"weir_aggregator_archived_total", "Audit events that were archived.", nullptr,
               &AggregateStats::archived},
    CounterRow{"weir_aggregator_request_failures_total",
               "Series of failed requests to the stream or for its leases.", nullptr,
               &AggregateStats::request_failures},
};

double SecondsSince(UnixMillis at, const Clock& clock) {
  return std::max(0.0, static_cast<double>(clock.WallNow().value - at.value) / 1000);
}

Status AddCounters(Registry& registry, const AggregateDaemon& daemon) {
  for (const CounterRow& row : kCounterRows) {
    MetricName name{.name = row.name, .help = row.help};
    if (row.fate != nullptr) name.labels = {{"fate", row.fate}};
    WEIR_RETURN_IF_ERROR(registry.AddCounter(
        std::move(name), [&daemon, counter = row.counter] { return daemon.stats().*counter; }));
  }
  return {};
}

Status AddAges(Registry& registry, const AggregateDaemon& daemon, const Clock& clock) {
  // There is no age before the first record.
  WEIR_RETURN_IF_ERROR(
      registry.AddGauges({.name = "weir_aggregator_applied_age_seconds",
                          .help = "Time since the newest record that was applied was created.",
                          .labels = {}},
                         [&daemon, &clock] {
                           std::vector<Labelled<double>> ages;
                           const auto newest = daemon.stats().newest_applied;
                           if (newest)
                             ages.push_back({.labels = {}, .value = SecondsSince(*newest, clock)});
                           return ages;
                         }));
  return registry.AddGauge(
      {.name = "weir_aggregator_waiting_age_seconds",
       .help = "Age of the oldest record that was read and is not applied; 0: there is none."},
      [&daemon, &clock] {
        const auto oldest = daemon.stats().oldest_waiting;
        return oldest ? SecondsSince(*oldest, clock) : 0.0;
      });
}

}  // namespace

Status RegisterMetrics(Registry& registry, const AggregateDaemon& daemon, const Clock& clock) {
  WEIR_RETURN_IF_ERROR(AddCounters(registry, daemon));
  WEIR_RETURN_IF_ERROR(AddAges(registry, daemon, clock));
  WEIR_RETURN_IF_ERROR(registry.AddGauge(
      {.name = "weir_aggregator_lease_held", .help = "1 if the lease of the table is held."},
      [&daemon, &clock] { return clock.Now() < daemon.stats().lease_held_until ? 1.0 : 0.0; }));
  WEIR_RETURN_IF_ERROR(registry.AddGauge(
      {.name = "weir_aggregator_shards", .help = "Shards of the stream that this process reads."},
      [&daemon] { return static_cast<double>(daemon.stats().shards); }));
  return registry.AddGauge(
      {.name = "weir_aggregator_damaged_leases",
       .help = "Damaged leases of shards; these shards are not read."},
      [&daemon] { return static_cast<double>(daemon.stats().damaged_leases); });
}

}  // namespace weir::dynamo
