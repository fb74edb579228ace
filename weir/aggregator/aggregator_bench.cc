// The cost of a batch in the process: 100 records of items of 1 KB, of 1,000 buckets with two
// limits, up to the bodies of the requests. For comparison, the updates of zae-limiter's
// aggregator: one for each record, limit and window.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <vector>

#include "weir/aggregator/aggregator.h"
#include "weir/base/rng.h"
#include "weir/zae_table/zae_layout.h"

namespace {

using namespace weir;  // NOLINT(google-build-using-namespace)
using namespace weir::dynamo;

constexpr UnixMillis kBatchStart{1'767'243'600'000};
constexpr std::size_t kBatchRecords = 100;
constexpr std::size_t kBenchBuckets = 1'000;
constexpr std::size_t kBatches = 50;

Item BenchImage(const Keys& keys, const BucketKey& bucket, std::int64_t consumed) {
  Item item = keys.BucketIndexes(bucket);
  for (const char* limit : {"rpm", "tpm", "wcu"}) {
    item[LimitAttribute(limit, "tk")] = Of(900'000);
    item[LimitAttribute(limit, "cp")] = Of(1'000'000);
    item[LimitAttribute(limit, "ra")] = Of(1'000'000);
    item[LimitAttribute(limit, "rp")] = Of(60'000);
    item[LimitAttribute(limit, "tc")] = Of(consumed);
  }
  item["entity_id"] = Of(bucket.entity);
  item["resource"] = Of(bucket.resource);
  item["rf"] = Of(kBatchStart.value);
  item["shard_count"] = Of(1);
  item["cascade"] = Of(false);
  item["note"] = Of(std::string(300, 'x'));  // an attribute that makes the item 1 KB long
  return item;
}

std::vector<std::vector<ChangeRecord>> MakeBatches() {
  const Keys keys("a1b2c3d4e5f");
  Rng rng(1);
  std::vector<std::vector<ChangeRecord>> batches(kBatches);
  std::uint64_t sequence = 100'000'000'000;
  for (auto& batch : batches) {
    for (std::size_t i = 0; i < kBatchRecords; ++i) {
      const BucketKey bucket{fmt::format("entity-{}", rng.Below(kBenchBuckets)), "gpt-4", 0};
      ChangeRecord record{.sequence_number = std::to_string(++sequence), .created = kBatchStart};
      record.keys = ToItem(keys.Bucket(bucket));
      record.old_image = BenchImage(keys, bucket, 1'000);
      record.new_image = BenchImage(keys, bucket, 3'000);
      batch.push_back(std::move(record));
    }
  }
  return batches;
}

std::size_t SizeOfBody(const Write& write) { return WriteBody("t", ZaeLayout(), write).size(); }

void AggregatorBatch(benchmark::State& state) {
  const auto batches = MakeBatches();
  const Instant now{1};
  AggregatorLease lease({.owner = "bench", .lifetime = std::chrono::hours(1)}, NoLog());
  lease.Start(now);
  lease.OnRead(std::optional<Item>(), now);
  lease.OnWrite(WriteResponse{}, now);
  const AggregatorOptions options;
  const ProtocolTime moment{.at = now, .bucket_time = kBatchStart + milliseconds(1'000)};
  Aggregator machine({options, lease, NoLog()}, 1);
  std::size_t next = 0;
  std::size_t failed = 0;
  for (auto _ : state) {
    const auto& batch = batches[next++ % kBatches];
    AggregatorStep step = machine.Start(
        {.stream_shard = "s", .records = batch, .deadline = Deadline::Never()}, moment);
    std::vector<AggregatorRequest> requests = std::move(step.requests);
    for (std::size_t i = 0; i < requests.size(); ++i) {
      benchmark::DoNotOptimize(SizeOfBody(std::get<Write>(requests[i].body)));
      step = machine.OnWrite(requests[i].id, WriteResponse{}, moment);
      for (AggregatorRequest& more : step.requests) requests.push_back(std::move(more));
    }
    if (!step.done || step.done->error) ++failed;
  }
  if (failed > 0) state.SkipWithError("a batch failed");
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kBatchRecords));
  state.SetLabel("vs aggregator_update_for_each_delta");
}

void UpdateForEachDelta(benchmark::State& state) {
  const auto batches = MakeBatches();
  std::size_t next = 0;
  for (auto _ : state) {
    for (const ChangeRecord& record : batches[next++ % kBatches]) {
      const auto change = ReadChange(record, 0);
      const Keys keys(std::string((*change)->namespace_id));
      for (const auto& [limit, delta] : (*change)->deltas) {
        for (const UsageWindow window : {UsageWindow::kHourly, UsageWindow::kDaily}) {
          const BucketKey& bucket = (*change)->bucket;
          Write write = UsageUpdate(
              keys, {bucket.entity, bucket.resource, window, StartOf(window, (*change)->at)}, 90,
              UsageOrigin::kOwn);
          write.expression.Add(limit, delta / 1'000).Add("total_events", 1);
          benchmark::DoNotOptimize(SizeOfBody(write));
        }
      }
    }
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kBatchRecords));
}

BENCHMARK(AggregatorBatch)->Name("aggregator_batch");
BENCHMARK(UpdateForEachDelta)->Name("aggregator_update_for_each_delta");

}  // namespace
