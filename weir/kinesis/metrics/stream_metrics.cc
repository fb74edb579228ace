#include "weir/kinesis/metrics/stream_metrics.h"

#include <iterator>
#include <utility>

namespace weir::kinesis {
namespace {

constexpr nanoseconds kPendingPeriod = milliseconds(200);
constexpr nanoseconds kForgetAfter = std::chrono::hours(1);
constexpr nanoseconds kSweepPeriod = std::chrono::minutes(1);

constexpr char kOther[] = "Other";

double InMillis(nanoseconds time) { return static_cast<double>(time.count()) / 1e6; }

}  // namespace

StreamMetrics::StreamMetrics(MetricsOptions options) : options_(options) {
  MutexLock lock(mutex_);
  own_.node = &nodes_[std::nullopt];
}

void StreamMetrics::OnPut(std::size_t bytes) {
  if (options_.level == MetricsLevel::kNone) return;
  ++pending_;
  Unpublished& stream = SamplesOf(std::nullopt);
  stream.Add(Metric::kUserRecordsReceived, 1);
  stream.Add(Metric::kUserRecordsDataReceived, static_cast<double>(bytes));
}

void StreamMetrics::OnSend(const std::vector<KinesisRecord>& records) {
  if (options_.level == MetricsLevel::kNone) return;
  std::size_t user_records = 0;
  for (const KinesisRecord& record : records) {
    user_records += record.records.size();
    SamplesOf(record.shard)
        .Add(Metric::kUserRecordsPerKinesisRecord, static_cast<double>(record.records.size()));
  }
  Unpublished& stream = SamplesOf(std::nullopt);
  stream.Add(Metric::kKinesisRecordsPerPutRecordsRequest, static_cast<double>(records.size()));
  stream.Add(Metric::kUserRecordsPerPutRecordsRequest, static_cast<double>(user_records));
}

void StreamMetrics::OnResponse(const std::vector<KinesisRecord>& records,
                               const PutResponse& response, Instant began, Instant now) {
  if (options_.level == MetricsLevel::kNone) return;
  request_.Record((now - began).count());
  Unpublished& stream = SamplesOf(std::nullopt);
  stream.Add(Metric::kRequestTime, InMillis(now - began));
  if (!response) return OnError(stream, CodeOf(response.error()));
  if (response->size() != records.size()) return OnError(stream, std::string(kCountMismatch));
  for (std::size_t i = 0; i < records.size(); ++i) {
    const std::string& code = (*response)[i].code;
    Unpublished& shard = SamplesOf(records[i].shard);
    shard.Add(Metric::kKinesisRecordsPut, code.empty() ? 1 : 0);
    if (!code.empty()) {
      OnError(shard, code);
      continue;
    }
    shard.Add(Metric::kAllErrors, 0);
    shard.Add(Metric::kKinesisRecordsDataPut, static_cast<double>(records[i].data.size()));
  }
}

void StreamMetrics::OnError(Unpublished& unpublished, const std::string& code) {
  unpublished.Add(Metric::kAllErrors, 1);
  if (codes_.size() < kMaxCodes) codes_.insert(code);
  unpublished.errors[codes_.contains(code) ? code : kOther].Add(1);
}

void StreamMetrics::OnResult(const RecordResult& result, const PutOrigin& origin, Instant now) {
  if (options_.level == MetricsLevel::kNone) return;
  --pending_;
  Unpublished& shard = SamplesOf(result.shard);
  shard.Add(Metric::kUserRecordsPut, result.stored ? 1 : 0);
  if (result.stored) shard.Add(Metric::kUserRecordsDataPut, static_cast<double>(origin.bytes));
  shard.Add(Metric::kTimeToResult, InMillis(now - origin.put));
  time_to_result_.Record((now - origin.put).count());
  const auto& attempts = result.attempts.kept();
  if (attempts.empty()) return;
  shard.Add(Metric::kRetriesPerRecord, result.attempts.count() - 1);
  const bool expired = !result.stored && attempts.back()->code == kExpired;
  if (expired) shard.Add(Metric::kUserRecordExpired, 1);
  OnBuffered(shard, result.attempts, origin.put);
}

void StreamMetrics::OnBuffered(Unpublished& unpublished, const Attempts& attempts, Instant put) {
  const bool some_are_discarded = attempts.count() > attempts.kept().size();
  Instant since = put;
  for (std::size_t i = 0; i < attempts.kept().size(); ++i) {
    const Attempt& attempt = *attempts.kept()[i];
    // The discarded attempts lie between the first kept one and the second.
    if (i != 1 || !some_are_discarded) {
      unpublished.Add(Metric::kBufferingTime, InMillis(attempt.began - since));
      buffering_.Record((attempt.began - since).count());
    }
    since = attempt.ended;
  }
}

StreamMetrics::Unpublished& StreamMetrics::SamplesOf(std::optional<ShardId> shard) {
  Unpublished* unpublished = &own_;
  if (shard && options_.granularity == MetricsGranularity::kShard) {
    unpublished = latest_shard_ == shard->number ? latest_ : &OfShard(shard->number);
  }
  if (!unpublished->touched) touched_.push_back(unpublished);
  unpublished->touched = true;
  return *unpublished;
}

StreamMetrics::Unpublished& StreamMetrics::OfShard(std::uint64_t number) {
  latest_shard_ = number;
  latest_ = &own_;
  const bool is_full = shards_.size() >= kMaxShards;
  if (is_full && !shards_.contains(number)) return own_;
  std::unique_ptr<Unpublished>& unpublished = shards_[number];
  if (unpublished == nullptr) {
    unpublished = std::make_unique<Unpublished>();
    MutexLock lock(mutex_);
    unpublished->node = &nodes_[ShardId{number}];
  }
  latest_ = unpublished.get();
  return *unpublished;
}

void StreamMetrics::Publish(Instant now) {
  if (options_.level == MetricsLevel::kNone) return;
  published_pending_.Set(pending_);
  if (!pending_sampled_ || now - *pending_sampled_ >= kPendingPeriod) {
    pending_sampled_ = now;
    SamplesOf(std::nullopt).Add(Metric::kUserRecordsPending, static_cast<double>(pending_));
  }
  if (touched_.empty()) return;
  MutexLock lock(mutex_);
  for (Unpublished* unpublished : touched_) PublishNode(*unpublished, now);
  touched_.clear();
  if (!swept_) swept_ = now;
  if (now - *swept_ >= kSweepPeriod) ForgetIdle(now);
}

void StreamMetrics::PublishNode(Unpublished& unpublished, Instant now) {
  Node& node = *unpublished.node;
  node.last = now;
  unpublished.touched = false;
  for (std::size_t i = 0; i < kMetrics; ++i) {
    if (unpublished.metrics[i].count == 0) continue;
    const Statistic samples = std::exchange(unpublished.metrics[i], {});
    const bool is_kept = InfoOf(static_cast<Metric>(i)).level <= options_.level;
    if (is_kept) node.metrics[i].Add(samples, now);
  }
  for (const auto& [code, samples] : unpublished.errors) node.errors[code].Add(samples, now);
  unpublished.errors.clear();
}

void StreamMetrics::ForgetIdle(Instant now) {
  swept_ = now;
  // latest_ may point to a shard that is forgotten below, or to own_ for a shard that then has
  // room.
  latest_shard_.reset();
  for (auto at = nodes_.begin(); at != nodes_.end();) {
    const auto& [shard, node] = *at;
    const bool is_idle = shard && now - node.last >= kForgetAfter;
    if (is_idle) {
      forgotten_.AddOld(node);
      shards_.erase(shard->number);
    }
    at = is_idle ? nodes_.erase(at) : std::next(at);
  }
}

void StreamMetrics::Node::AddOld(const Node& other) {
  for (std::size_t i = 0; i < kMetrics; ++i) metrics[i].AddOld(other.metrics[i]);
  for (const auto& [code, samples] : other.errors) errors[code].AddOld(samples);
}

std::vector<StreamMetrics::Row> StreamMetrics::Rows(
    Metric metric, const std::function<Statistic(const WindowedStatistic&)>& read) const {
  const auto read_node = [&](const WindowedStatistic& samples) -> std::optional<Statistic> {
    if (samples.total().count == 0) return std::nullopt;
    return read(samples);
  };
  std::vector<Row> rows;
  const MutexLock lock(mutex_);
  for (const auto& [shard, node] : nodes_) AddRows(rows, metric, node, {.shard = shard}, read_node);
  AddRows(rows, metric, forgotten_, {.forgotten = true}, read_node);
  return rows;
}

std::vector<StreamMetrics::Row> StreamMetrics::TakeRows(Metric metric) {
  const auto take_node = [](WindowedStatistic& samples) -> std::optional<Statistic> {
    const Statistic statistic = samples.Take();
    return statistic.count == 0 ? std::nullopt : std::optional(statistic);
  };
  std::vector<Row> rows;
  const MutexLock lock(mutex_);
  for (auto& [shard, node] : nodes_) AddRows(rows, metric, node, {.shard = shard}, take_node);
  AddRows(rows, metric, forgotten_, {.forgotten = true}, take_node);
  return rows;
}

template <class AnyNode, class Read>
void StreamMetrics::AddRows(std::vector<Row>& rows, Metric metric, AnyNode& node, const Row& like,
                            const Read& read) {
  const auto add = [&](const std::string& code, auto& samples) {
    const std::optional<Statistic> statistic = read(samples);
    if (!statistic) return;
    Row& row = rows.emplace_back(like);
    row.code = code;
    row.statistic = *statistic;
  };
  add("", node.metrics[static_cast<std::size_t>(metric)]);
  if (metric != Metric::kErrorsByCode) return;
  for (auto& [code, samples] : node.errors) add(code, samples);
}

HistogramSnapshot StreamMetrics::Spread(Metric metric) const {
  if (metric == Metric::kBufferingTime) return buffering_.Snapshot();
  if (metric == Metric::kRequestTime) return request_.Snapshot();
  return time_to_result_.Snapshot();
}

}  // namespace weir::kinesis
