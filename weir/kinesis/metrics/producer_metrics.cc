#include "weir/kinesis/metrics/producer_metrics.h"

#include <fmt/format.h>

#include <tuple>
#include <utility>

namespace weir::kinesis {
namespace {

using Counts = std::vector<Labelled<std::uint64_t>>;

// Returns the rows for Prometheus, without the row of the forgotten shards. The series of these
// shards end, since their counts would look like a burst under another label.
std::vector<StreamMetrics::Row> ExportedRows(const StreamMetrics& metrics, Metric metric) {
  auto rows = metrics.Rows(metric, [](const auto& samples) { return samples.total(); });
  std::erase_if(rows, [](const StreamMetrics::Row& row) { return row.forgotten; });
  return rows;
}

std::string ShardName(const std::optional<ShardId>& shard) {
  return shard ? FormatShardId(*shard) : std::string();
}

// Returns the part of the statistic that a counter exports.
std::uint64_t PartOf(const Statistic& statistic, MetricCounter::Part part) {
  const auto sum = static_cast<std::uint64_t>(statistic.sum);
  if (part == MetricCounter::Part::kSum) return sum;
  return part == MetricCounter::Part::kCount ? statistic.count : statistic.count - sum;
}

}  // namespace

MetricsOptions MetricsOf(const ProducerConfig& config) {
  const MetricsOptions defaults;
  return {ParseMetricsLevel(config.metrics_level).value_or(defaults.level),
          ParseMetricsGranularity(config.metrics_granularity).value_or(defaults.granularity)};
}

StreamMetrics& ProducerMetrics::Stream(std::string_view name) {
  const bool is_shared =
      options_.granularity == MetricsGranularity::kGlobal || options_.level == MetricsLevel::kNone;
  const MutexLock lock(mutex_);
  auto& stream = streams_[is_shared ? std::string() : std::string(name)];
  if (stream == nullptr) stream = std::make_unique<StreamMetrics>(options_);
  return *stream;
}

bool ProducerMetrics::KeepsMetric(Metric metric) const {
  return options_.level != MetricsLevel::kNone && InfoOf(metric).level <= options_.level;
}

std::vector<ProducerMetrics::Named> ProducerMetrics::AllStreams() const {
  const MutexLock lock(mutex_);
  std::vector<Named> streams;
  streams.reserve(streams_.size());
  for (const auto& [name, metrics] : streams_) streams.push_back({name, metrics.get()});
  return streams;
}

Result<std::vector<MetricReading>> ProducerMetrics::Read(const MetricQuery& query,
                                                         Instant now) const {
  const auto window = query.window;
  const std::chrono::seconds longest(WindowedStatistic::kSeconds);
  if (window && (*window < std::chrono::seconds(1) || *window > longest)) {
    return Fail(Code::kInvalidArgument,
                fmt::format("window of {} s: 1 to {} are kept", window->count(), longest.count()));
  }
  const auto read = [&](const WindowedStatistic& samples) {
    return window ? samples.Last(*window, now) : samples.total();
  };
  const auto rows_of = [&read](const StreamMetrics& metrics, Metric metric) {
    return metrics.Rows(metric, read);
  };
  std::vector<MetricReading> readings;
  for (std::size_t i = 0; i < kMetrics; ++i) {
    const auto metric = static_cast<Metric>(i);
    if (!query.metric || *query.metric == metric) ReadInto(readings, metric, rows_of);
  }
  return readings;
}

std::vector<MetricReading> ProducerMetrics::Take() {
  const auto rows_of = [](StreamMetrics& metrics, Metric metric) {
    return metrics.TakeRows(metric);
  };
  std::vector<MetricReading> readings;
  for (std::size_t i = 0; i < kMetrics; ++i) ReadInto(readings, static_cast<Metric>(i), rows_of);
  return readings;
}

void ProducerMetrics::ReadInto(std::vector<MetricReading>& readings, Metric metric,
                               const RowsOf& rows_of) const {
  if (!KeepsMetric(metric)) return;
  std::map<std::tuple<std::string, std::string, std::string>, Statistic> tree;
  for (const auto& [name, metrics] : AllStreams()) {
    for (const StreamMetrics::Row& row : rows_of(*metrics, metric)) {
      tree[{row.code, "", ""}].Add(row.statistic);
      if (!name.empty()) tree[{row.code, name, ""}].Add(row.statistic);
      if (row.shard) tree[{row.code, name, ShardName(row.shard)}].Add(row.statistic);
    }
  }
  for (const auto& [place, statistic] : tree) {
    const auto& [code, stream, shard] = place;
    readings.push_back({metric, code, stream, shard, statistic});
  }
}

HistogramSnapshot ProducerMetrics::Spread(Metric metric) const {
  HistogramSnapshot all;
  for (const Named& stream : AllStreams()) all.Merge(stream.metrics->Spread(metric));
  return all;
}

Status ProducerMetrics::Register(Registry& registry) const {
  if (options_.level == MetricsLevel::kNone) return {};
  WEIR_RETURN_IF_ERROR(RegisterCounters(registry));
  WEIR_RETURN_IF_ERROR(RegisterAge(registry));
  if (KeepsMetric(Metric::kUserRecordsPending)) {
    WEIR_RETURN_IF_ERROR(registry.AddGauges(
        {"weir_kinesis_user_records_pending", "User records without a result.", {"stream"}},
        [this] {
          std::vector<Labelled<double>> rows;
          for (const auto& [name, metrics] : AllStreams()) {
            rows.push_back({{name}, static_cast<double>(metrics->pending())});
          }
          return rows;
        }));
  }
  WEIR_RETURN_IF_ERROR(RegisterSpread(
      registry, Metric::kBufferingTime,
      {"weir_kinesis_buffering_seconds", "From a put, or from an attempt, to the next attempt."}));
  WEIR_RETURN_IF_ERROR(RegisterSpread(
      registry, Metric::kRequestTime,
      {"weir_kinesis_request_seconds", "From a request's start to its response or failure."}));
  return RegisterSpread(registry, Metric::kTimeToResult,
                        {"weir_kinesis_time_to_result_seconds", "From a put to its result."});
}

// Exports only the nodes that store samples, without the sums, which Prometheus computes.
Status ProducerMetrics::RegisterCounters(Registry& registry) const {
  for (const MetricCounter& counter : MetricCounters()) {
    if (!KeepsMetric(counter.metric)) continue;
    WEIR_RETURN_IF_ERROR(registry.AddCounters(
        {std::string(counter.name), std::string(counter.help), {"stream", "shard"}},
        [this, &counter] {
          Counts rows;
          for (const auto& [name, metrics] : AllStreams()) {
            for (const StreamMetrics::Row& row : ExportedRows(*metrics, counter.metric)) {
              rows.push_back({{name, ShardName(row.shard)}, PartOf(row.statistic, counter.part)});
            }
          }
          return rows;
        }));
  }
  return registry.AddCounters(
      {"weir_kinesis_errors_by_code_total",
       "Kinesis records refused, and requests that failed as a whole, by error code.",
       {"code", "stream", "shard"}},
      [this] {
        Counts rows;
        for (const auto& [name, metrics] : AllStreams()) {
          for (const StreamMetrics::Row& row : ExportedRows(*metrics, Metric::kErrorsByCode)) {
            rows.push_back({{row.code, name, ShardName(row.shard)}, row.statistic.count});
          }
        }
        return rows;
      });
}

Status ProducerMetrics::RegisterAge(Registry& registry) const {
  if (!oldest_age_) return {};
  return registry.AddGauge(
      {"weir_kinesis_oldest_user_record_age_seconds",
       "Time since the put of the oldest user record whose callback has not run; 0: none."},
      [read = oldest_age_] { return std::chrono::duration<double>(read()).count(); });
}

Status ProducerMetrics::RegisterSpread(Registry& registry, Metric metric,
                                       const MetricName& name) const {
  if (!KeepsMetric(metric)) return {};
  return registry.AddHistograms({name.name, name.help, {"stream"}}, kNanosAsSeconds,
                                [this, metric] {
                                  std::vector<Labelled<HistogramSnapshot>> rows;
                                  for (const auto& [stream, metrics] : AllStreams()) {
                                    rows.push_back({{stream}, metrics->Spread(metric)});
                                  }
                                  return rows;
                                });
}

}  // namespace weir::kinesis
