// Measures the cost of the metrics of a producer for each user record, from its put to its result.
#include <benchmark/benchmark.h>

#include "weir/kinesis/metrics/producer_metrics.h"

namespace {

using namespace weir;
using namespace weir::kinesis;

constexpr std::uint64_t kShards = 20;

/// A request of 500 Kinesis records, each with this number of user records.
struct Turn {
  std::vector<KinesisRecord> records;
  std::vector<RecordResult> results;
  PutResponse response;

  explicit Turn(std::size_t user_records) {
    std::vector<EntryResponse> entries(500,
                                       {.shard = "shardId-000000000001", .sequence_number = "1"});
    for (std::uint64_t i = 0; i < entries.size(); ++i) {
      const ShardId shard{i * kShards / entries.size()};
      KinesisRecord record{.records = std::vector<UserRecord>(user_records),
                           .data = std::string(100 * user_records, 'x'),
                           .shard = shard};
      records.push_back(std::move(record));
      RecordResult result{.stored = true, .shard = shard};
      result.attempts.Add({.began = Instant{100'000}, .ended = Instant{200'000}});
      results.insert(results.end(), user_records, result);
    }
    response = std::move(entries);
  }
};

void Take(StreamMetrics& metrics, const Turn& turn, Instant now) {
  for (std::size_t i = 0; i < turn.results.size(); ++i) metrics.OnPut(100);
  metrics.OnSend(turn.records);
  metrics.Publish(now);
  metrics.OnResponse(turn.records, turn.response, now - milliseconds(10), now);
  for (const RecordResult& result : turn.results) {
    metrics.OnResult(result, {.put = Instant{50'000}, .bytes = 100}, now);
  }
  metrics.Publish(now);
}

void Run(benchmark::State& state, MetricsOptions options) {
  const auto user_records = static_cast<std::size_t>(state.range(0));
  const Turn turn(user_records);
  ProducerMetrics metrics(options);
  StreamMetrics& stream = metrics.Stream("s");
  Instant now{1'000'000};
  for (auto _ : state) {
    now = now + milliseconds(1);
    Take(stream, turn, now);
  }
  state.SetItemsProcessed(state.iterations() * std::ssize(turn.results));
}

void kinesis_metrics_shard(benchmark::State& state) { Run(state, {}); }
BENCHMARK(kinesis_metrics_shard)->Arg(1)->Arg(50);

void kinesis_metrics_none(benchmark::State& state) { Run(state, {.level = MetricsLevel::kNone}); }
BENCHMARK(kinesis_metrics_none)->Arg(1)->Arg(50);

void kinesis_metrics_text(benchmark::State& state) {
  ProducerMetrics metrics({});
  Take(metrics.Stream("s"), Turn(1), Instant{1'000'000});
  Registry registry;
  if (!metrics.Register(registry)) state.SkipWithError("refused");
  for (auto _ : state) benchmark::DoNotOptimize(registry.Text());
}
BENCHMARK(kinesis_metrics_text);

}  // namespace
