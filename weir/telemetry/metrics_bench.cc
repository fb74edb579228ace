// The cost of a metric, next to the bare atomic that it is made of.
#include <benchmark/benchmark.h>

#include <atomic>

#include "weir/telemetry/counter.h"
#include "weir/telemetry/histogram.h"

namespace {

void metrics_bare_atomic(benchmark::State& state) {
  static std::atomic<std::uint64_t> shared = 0;
  for (auto _ : state) shared.fetch_add(1, std::memory_order_relaxed);
}
BENCHMARK(metrics_bare_atomic)->ThreadRange(1, 2)->UseRealTime();

void metrics_counter_add(benchmark::State& state) {
  static weir::Counter counter;
  for (auto _ : state) counter.Add();
  state.SetLabel("vs metrics_bare_atomic");
}
BENCHMARK(metrics_counter_add)->ThreadRange(1, 2)->UseRealTime();

void metrics_histogram_record(benchmark::State& state) {
  static weir::Histogram histogram;
  std::int64_t value = 1;
  for (auto _ : state) {
    histogram.Record(value);
    value = value * 5 % 1'000'003;
  }
  state.SetLabel("vs metrics_bare_atomic");
}
BENCHMARK(metrics_histogram_record)->ThreadRange(1, 2)->UseRealTime();

void metrics_histogram_snapshot(benchmark::State& state) {
  weir::Histogram histogram;
  histogram.Record(1);
  for (auto _ : state) benchmark::DoNotOptimize(histogram.Snapshot().Quantile(0.99));
}
BENCHMARK(metrics_histogram_snapshot);

}  // namespace
