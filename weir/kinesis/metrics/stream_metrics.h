// The metrics of one stream. Mechanism and cost: docs/design/kinesis-metrics.md.
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
#include "weir/kinesis/metrics/metric_names.h"
#include "weir/kinesis/metrics/windowed_statistic.h"
#include "weir/kinesis/pipeline/put_response.h"
#include "weir/kinesis/pipeline/record_results.h"
#include "weir/telemetry/counter.h"
#include "weir/telemetry/histogram.h"

namespace weir::kinesis {

struct MetricsOptions {
  MetricsLevel level = MetricsLevel::kDetailed;
  MetricsGranularity granularity = MetricsGranularity::kShard;
};

/// The parts of a put that the metrics need with its result; RecordResult does not have them.
struct PutOrigin {
  Instant put;
  std::size_t bytes = 0;  ///< the size of the data of the record
};

/// Events must come on one thread at a time; all other calls may come on any thread. Events can be
/// read after Publish. Each sample is stored once, at the shard if it is known and the granularity
/// is kShard, else at the stream; readers compute the sums. A shard without samples for an hour is
/// forgotten, but its samples still count in the sums. While kMaxShards shards have samples of
/// their own, those of further shards are stored at the stream. At level none no sample is stored,
/// and an event costs a comparison.
class StreamMetrics {
 public:
  /// The most error codes; further ones are counted as "Other".
  static constexpr std::size_t kMaxCodes = 64;
  /// The most shards with samples of their own. The names of shards come from the service, and each
  /// takes up to 40 KiB and several series. A shard takes 1 MB/s: 10,000 are a stream of 10 GB/s.
  static constexpr std::size_t kMaxShards = 10'000;

  explicit StreamMetrics(MetricsOptions options);

  /// Counts a record that was put.
  void OnPut(std::size_t bytes);
  /// Counts a request that is sent.
  void OnSend(const std::vector<KinesisRecord>& records);
  /// Counts a request that has ended.
  void OnResponse(const std::vector<KinesisRecord>& records, const PutResponse& response,
                  Instant began, Instant now);
  /// Counts a record that has its result.
  void OnResult(const RecordResult& result, const PutOrigin& origin, Instant now);
  /// Makes the events since the last call readable. Call it once after all events of one turn.
  /// Their samples are dated `now`, which must not go back.
  void Publish(Instant now);

  /// The samples of one node.
  struct Row {
    std::optional<ShardId> shard;
    std::string code;  ///< the error code of kErrorsByCode; empty for other metrics
    Statistic statistic;
    bool forgotten = false;  ///< the sum of the shards that were forgotten
  };
  /// Returns the result of `read` for each node that ever had a sample of this metric, ordered by
  /// shard and code; the sum of the forgotten shards comes last. `read` runs under a lock and must
  /// not call this object.
  std::vector<Row> Rows(Metric metric,
                        const std::function<Statistic(const WindowedStatistic&)>& read) const;
  /// Returns the samples since the last call for this metric, of the nodes that had any. There must
  /// be only one caller.
  std::vector<Row> TakeRows(Metric metric);
  /// Returns the number of user records without a result, as of the last Publish.
  std::int64_t pending() const { return published_pending_.Value(); }
  /// Returns the distribution in nanoseconds, over all shards, of kBufferingTime, kRequestTime or
  /// kTimeToResult.
  HistogramSnapshot Spread(Metric metric) const;

 private:
  /// Published samples.
  struct Node {
    std::array<WindowedStatistic, kMetrics> metrics;
    std::map<std::string, WindowedStatistic> errors;
    Instant last;

    /// Adds the samples of another node as samples that belong to no second
    /// (WindowedStatistic::AddOld).
    void AddOld(const Node& other);
  };
  /// Samples that are not published. Used on the events' thread only.
  struct Unpublished {
    std::array<Statistic, kMetrics> metrics;
    std::map<std::string, Statistic> errors;
    Node* node = nullptr;
    bool touched = false;

    void Add(Metric metric, double sample) {
      metrics[static_cast<std::size_t>(metric)].Add(sample);
    }
  };

  /// Appends the rows of one node.
  template <class AnyNode, class Read>
  static void AddRows(std::vector<Row>& rows, Metric metric, AnyNode& node, const Row& like,
                      const Read& read);
  /// Returns the unpublished samples, of a shard or of the stream, to which an event adds its
  /// samples.
  Unpublished& SamplesOf(std::optional<ShardId> shard);
  /// Finds or creates the samples of a shard. Returns those of the stream if kMaxShards other
  /// shards have samples.
  Unpublished& OfShard(std::uint64_t number);
  void OnError(Unpublished& unpublished, const std::string& code);
  /// Adds the times that a record waited before each of its attempts.
  void OnBuffered(Unpublished& unpublished, const Attempts& attempts, Instant put);
  /// Publishes the samples of one node.
  void PublishNode(Unpublished& unpublished, Instant now) WEIR_REQUIRES(mutex_);
  /// Forgets shards without samples for an hour; their samples go to forgotten_.
  void ForgetIdle(Instant now) WEIR_REQUIRES(mutex_);

  const MetricsOptions options_;
  // Used on the events' thread only.
  Unpublished own_;
  absl::flat_hash_map<std::uint64_t, std::unique_ptr<Unpublished>> shards_;
  // The shard of the latest event. The next event is usually of the same shard.
  std::optional<std::uint64_t> latest_shard_;
  Unpublished* latest_ = nullptr;
  std::vector<Unpublished*> touched_;
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
