// The metrics of a producer, as the Kinesis Producer Library names and cuts them.
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
#include "weir/kinesis/producer_config.h"
#include "weir/kinesis/stream_metrics.h"
#include "weir/telemetry/registry.h"

namespace weir::kinesis {

struct MetricQuery {
  std::optional<Metric> metric;  ///< nothing: all of them
  /// The last so many seconds, the present one included: 1 to 60. Nothing: since the start.
  std::optional<std::chrono::seconds> window;
};

/// One node of the library's tree: a metric of all streams, of a stream, or of a shard. It holds
/// what the nodes under it hold.
struct MetricReading {
  Metric metric{};
  std::string code;    ///< of kErrorsByCode, else empty
  std::string stream;  ///< empty: of all
  std::string shard;   ///< empty: of all
  Statistic statistic;
};

/// Thread-safe. Its StreamMetrics live as long as it does.
class ProducerMetrics {
 public:
  using ReadAge = std::function<nanoseconds()>;

  /// `oldest_age`: Producer::oldest_age, for Prometheus; it outlives the registry. Null: not told.
  explicit ProducerMetrics(MetricsOptions options, ReadAge oldest_age = nullptr)
      : options_(options), oldest_age_(std::move(oldest_age)) {}

  /// What the producer of this stream tells its events. At granularity global, and at level none,
  /// the same for all streams, whose events must then come on one thread.
  StreamMetrics& Stream(std::string_view name);

  /// Nodes that ever had a sample, where level and granularity keep them, in the order of metric,
  /// code, stream, shard. kInvalidArgument: a window that is none.
  [[nodiscard]] Result<std::vector<MetricReading>> Read(const MetricQuery& query,
                                                        Instant now) const;
  /// The samples since the last Take, of the nodes that had some, in the same order. Each sample is
  /// taken once, at its node and all above it, so this is for one caller: an upload.
  std::vector<MetricReading> Take();
  /// Their spread in nanoseconds, of all streams: kBufferingTime, kRequestTime, kTimeToResult.
  HistogramSnapshot Spread(Metric metric) const;

  /// Adds what the level keeps, also of streams that come later. One producer a registry; must
  /// outlive it. kAlreadyExists: as Registry says; some may be added then.
  [[nodiscard]] Status Register(Registry& registry) const;

 private:
  struct Named {
    std::string name;
    StreamMetrics* metrics;
  };

  std::vector<Named> Streams() const;
  using RowsOf = std::function<std::vector<StreamMetrics::Row>(StreamMetrics&, Metric)>;
  void ReadInto(std::vector<MetricReading>& readings, Metric metric, const RowsOf& rows_of) const;
  bool Keeps(Metric metric) const;
  Status RegisterCounters(Registry& registry) const;
  Status RegisterAge(Registry& registry) const;
  Status RegisterSpread(Registry& registry, Metric metric, const MetricName& name) const;

  const MetricsOptions options_;
  const ReadAge oldest_age_;
  mutable Mutex mutex_;
  std::map<std::string, std::unique_ptr<StreamMetrics>, std::less<>> streams_
      WEIR_GUARDED_BY(mutex_);
};

/// As a configuration that ParseProperties accepted says.
MetricsOptions MetricsOf(const ProducerConfig& config);

}  // namespace weir::kinesis
