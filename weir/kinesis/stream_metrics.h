// What one stream's producer counts. Mechanism and cost: docs/design/kinesis-metrics.md.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "weir/base/mutex.h"
#include "weir/kinesis/metric_names.h"
#include "weir/kinesis/pipeline.h"
#include "weir/kinesis/windowed_statistic.h"
#include "weir/telemetry/counter.h"
#include "weir/telemetry/histogram.h"

namespace weir::kinesis {

struct MetricsOptions {
  MetricsLevel level = MetricsLevel::kDetailed;
  MetricsGranularity granularity = MetricsGranularity::kShard;
};

/// Where a user record came from; its result does not say.
struct PutOrigin {
  Instant put;
  std::size_t bytes = 0;  ///< of its data
};

/// Events on one thread at a time, the rest on any. What events tell can be read after Publish.
/// Each number is kept at one place, the shard's where it is known and asked for, else the
/// stream's; sums are made by who reads. A shard without samples for an hour is forgotten, except
/// for its part of the sums. At level none nothing is kept and nothing costs.
class StreamMetrics {
 public:
  static constexpr std::size_t kMostCodes = 64;  ///< of errors; a further one is "Other"

  explicit StreamMetrics(MetricsOptions options);

  void OnPut(std::size_t bytes);
  void OnSend(const std::vector<KinesisRecord>& records);
  void OnAnswer(const std::vector<KinesisRecord>& records, const PutAnswer& answer, Instant began,
                Instant now);
  void OnResult(const RecordResult& result, const PutOrigin& origin, Instant now);
  /// Once after all events of one turn: they count as of now, which never goes back.
  void Publish(Instant now);

  struct Row {
    std::optional<ShardId> shard;
    std::string code;  ///< of kErrorsByCode, else empty
    Statistic statistic;
    bool forgotten = false;  ///< what shards counted that are no longer known
  };
  /// What `read` makes of each place that ever had a sample of this metric, by shard and code, at
  /// last of what is forgotten. It must not call back.
  std::vector<Row> Rows(Metric metric,
                        const std::function<Statistic(const WindowedStatistic&)>& read) const;
  /// The samples since the last call for this metric, of the places that had some: for one caller.
  std::vector<Row> TakeRows(Metric metric);
  /// User records without a result.
  std::int64_t pending() const { return published_pending_.Value(); }
  /// In nanoseconds, of all shards: kBufferingTime, kRequestTime or kTimeToResult.
  HistogramSnapshot Spread(Metric metric) const;

 private:
  /// What was published.
  struct Node {
    std::array<WindowedStatistic, kMetrics> metrics;
    std::map<std::string, WindowedStatistic> errors;
    Instant last;

    void AddOld(const Node& other);
  };
  /// What was not. Of the events' thread.
  struct Fresh {
    std::array<Statistic, kMetrics> metrics;
    std::map<std::string, Statistic> errors;
    Node* node = nullptr;
    bool touched = false;

    void Add(Metric metric, double sample) {
      metrics[static_cast<std::size_t>(metric)].Add(sample);
    }
  };

  template <class AnyNode, class Read>
  static void AddRows(std::vector<Row>& rows, Metric metric, AnyNode& node, const Row& like,
                      const Read& read);
  Fresh& At(std::optional<ShardId> shard);
  Fresh& OfShard(std::uint64_t number);
  void OnError(Fresh& fresh, const std::string& code);
  void OnBuffered(Fresh& fresh, const Attempts& attempts, Instant put);
  void Take(Fresh& fresh, Instant now) WEIR_REQUIRES(mutex_);
  void ForgetIdle(Instant now) WEIR_REQUIRES(mutex_);

  const MetricsOptions options_;
  // Of the events' thread.
  Fresh own_;
  absl::flat_hash_map<std::uint64_t, std::unique_ptr<Fresh>> shards_;
  std::optional<std::uint64_t> latest_shard_;
  Fresh* latest_ = nullptr;
  std::vector<Fresh*> touched_;
  std::set<std::string> codes_;
  std::int64_t pending_ = 0;
  std::optional<Instant> pending_sampled_, swept_;

  Gauge published_pending_;
  Histogram buffering_, request_, time_to_result_;
  mutable Mutex mutex_;
  std::map<std::optional<ShardId>, Node> nodes_ WEIR_GUARDED_BY(mutex_);
  Node forgotten_ WEIR_GUARDED_BY(mutex_);
};

}  // namespace weir::kinesis
