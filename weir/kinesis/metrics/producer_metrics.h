// The metrics of a producer, with the names and the tree of the Kinesis Producer Library.
// Names, mapping and cost: docs/design/kinesis-metrics.md.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weir/base/mutex.h"
#include "weir/base/result.h"
#include "weir/kinesis/metrics/stream_metrics.h"
#include "weir/kinesis/producer_config.h"
#include "weir/telemetry/registry.h"

namespace weir::kinesis {

struct MetricQuery {
  std::optional<Metric> metric;  ///< nothing: all metrics
  /// The last seconds to read, the present one included: 1 to 60. Nothing: since the start.
  std::optional<std::chrono::seconds> window;
};

/// One node of the library's tree: a metric of all streams, of a stream, or of a shard. It includes
/// the samples of the nodes below it.
struct MetricReading {
  Metric metric{};
  std::string code;    ///< the error code of kErrorsByCode; empty for other metrics
  std::string stream;  ///< empty: of all streams
  std::string shard;   ///< empty: of all shards
  Statistic statistic;
};

/// Thread-safe. Owns its StreamMetrics.
class ProducerMetrics {
 public:
  using ReadAge = std::function<nanoseconds()>;

  /// `oldest_age`: Producer::oldest_age, for Prometheus; must be callable while the registry lives.
  /// Null: not exported.
  explicit ProducerMetrics(MetricsOptions options, ReadAge oldest_age = nullptr)
      : options_(options), oldest_age_(std::move(oldest_age)) {}

  /// Returns the metrics to which the producer of this stream reports its events. At granularity
  /// global, and at level none, this is the same object for all streams, and the events of all
  /// streams must then come on one thread.
  StreamMetrics& Stream(std::string_view name);

  /// Returns the nodes that ever had a sample and that level and granularity keep, ordered by
  /// metric, code, stream, shard. kInvalidArgument: a window outside of 1 to 60 s.
  [[nodiscard]] Result<std::vector<MetricReading>> Read(const MetricQuery& query,
                                                        Instant now) const;
  /// Returns the samples since the last Take, of the nodes that had any, in the same order. Each
  /// sample is taken once, at its node and at all nodes above it, so there must be only one caller:
  /// an upload.
  std::vector<MetricReading> Take();
  /// Returns the distribution in nanoseconds, over all streams, of kBufferingTime, kRequestTime or
  /// kTimeToResult.
  HistogramSnapshot Spread(Metric metric) const;

  /// Adds the metrics that the level keeps to the registry, also those of streams that are opened
  /// later. Only one ProducerMetrics may be added to a registry, and it must outlive the registry.
  /// kAlreadyExists: as Registry; some of the metrics may have been added all the same.
  [[nodiscard]] Status Register(Registry& registry) const;

 private:
  struct Named {
    std::string name;
    StreamMetrics* metrics;
  };

  std::vector<Named> AllStreams() const;
  /// Reads the rows of a metric from the metrics of a stream.
  using RowsOf = std::function<std::vector<StreamMetrics::Row>(StreamMetrics&, Metric)>;
  /// Appends the readings of a metric: the rows of all streams, and their sums.
  void ReadInto(std::vector<MetricReading>& readings, Metric metric, const RowsOf& rows_of) const;
  /// Returns whether the level keeps the metric.
  bool KeepsMetric(Metric metric) const;
  Status RegisterCounters(Registry& registry) const;
  Status RegisterAge(Registry& registry) const;
  Status RegisterSpread(Registry& registry, Metric metric, const MetricName& name) const;

  const MetricsOptions options_;
  const ReadAge oldest_age_;
  mutable Mutex mutex_;
  std::map<std::string, std::unique_ptr<StreamMetrics>, std::less<>> streams_
      WEIR_GUARDED_BY(mutex_);
};

/// Returns the options of a configuration that ParseProperties accepted.
MetricsOptions MetricsOf(const ProducerConfig& config);

}  // namespace weir::kinesis
