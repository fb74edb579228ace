// Measures the cost that a Limiter adds to a store: one request on a store that admits at once and
// keeps no state, compared with the reading of the clock and with a store in memory.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "weir/limiter/limiter.h"
#include "weir/limiter/testing/probe_backend.h"
#include "weir/runtime/loop.h"
#include "weir/store/memory/memory_backend.h"

namespace {

using namespace weir;  // NOLINT(google-build-using-namespace)

const Clock& WallClock() {
  static const SystemClock clock;
  return clock;
}

class AdmitsAll final : public BucketStore {
 public:
  UnixMillis Now() const override { return WallClock().WallNow(); }
  void Acquire(std::span<const Charge>, UnixMillis, Deadline, Done<Decision> done) override {
    done(Decision{.admitted = true, .limits = {}});
  }
  void Adjust(std::span<const Charge>, const AdjustTerms&, UnixMillis, Deadline,
              Done<void> done) override {
    done({});
  }
  void Read(std::span<const BucketKey> keys, Deadline,
            Done<std::vector<std::optional<BucketRecord>>> done) override {
    done(std::vector<std::optional<BucketRecord>>(keys.size()));
  }
  void List(const BucketFilter&, const PageRequest&, Deadline,
            Done<Page<BucketRecord>> done) override {
    done(Page<BucketRecord>{});
  }
};

class EmptyBackend final : public Backend {
 public:
  BucketStore& buckets() override { return buckets_; }
  ConfigStore& config() override { return memory_->config(); }
  Status Close() override { return {}; }
  std::string Describe() const override { return "empty"; }

 private:
  std::unique_ptr<Backend> memory_ = MakeMemoryBackend();
  AdmitsAll buckets_;
};

// 64 children, each below a parent of its own, with two limits on each entity.
struct Setup {
  explicit Setup(std::unique_ptr<Backend> store) : backend(std::move(store)) {
    std::vector<ConfigChange> changes{Put(
        Level::System(), {{"rpm", PerSecond(1'000'000'000)}, {"tpm", PerSecond(1'000'000'000)}})};
    for (int i = 0; i < 64; ++i) {
      names.push_back("tenant-" + std::to_string(i));
      changes.push_back(PutChild(names.back(), "organisation-" + std::to_string(i)));
    }
    if (!limiter.Apply(std::move(changes), Deadline::Never())) std::abort();
  }

  SystemClock clock;
  std::unique_ptr<Backend> backend;
  Loop loop{clock};
  Limiter limiter{*backend, loop};
  std::vector<std::string> names;
};

Setup& Empty() {
  static Setup setup(std::make_unique<EmptyBackend>());
  return setup;
}

Setup& InMemory() {
  static Setup setup(MakeMemoryBackend({}, &WallClock()));
  return setup;
}

void Acquire(benchmark::State& state, Setup& setup) {
  AcquireRequest request{.resource = "gpt-4", .amounts = {{"rpm", 1}, {"tpm", 500}}};
  std::size_t i = static_cast<std::size_t>(state.thread_index()) * 32;
  for (auto _ : state) {
    request.entity = setup.names[++i % setup.names.size()];
    const auto outcome = setup.limiter.Acquire(request, Deadline::Never());
    if (!outcome || !outcome->admitted()) std::abort();
  }
}

// A group of `count` children, and its parents.
void AcquireAll(benchmark::State& state, Setup& setup, std::size_t count) {
  std::vector<AcquirePart> parts(count);
  for (AcquirePart& part : parts) {
    part.resource = "gpt-4";
    part.amounts = {{"rpm", 1}, {"tpm", 500}};
  }
  std::size_t i = static_cast<std::size_t>(state.thread_index()) * 32;
  for (auto _ : state) {
    for (AcquirePart& part : parts) part.entity = setup.names[++i % setup.names.size()];
    const auto got = setup.limiter.AcquireAll({.parts = parts}, Deadline::Never());
    if (!got || !got->outcome.admitted()) std::abort();
  }
}

void limiter_clock(benchmark::State& state) {
  const SystemClock clock;
  for (auto _ : state) benchmark::DoNotOptimize(clock.Now());
}
BENCHMARK(limiter_clock)->ThreadRange(1, 2)->UseRealTime();

// One resolution from the cache, of the same pair on every thread.
void limiter_resolve_hit(benchmark::State& state) {
  static const std::unique_ptr<Backend> backend = MakeMemoryBackend();
  static const SystemClock clock;
  static Resolver resolver(backend->config(), clock, {});
  if (state.thread_index() == 0) {
    backend->config().Apply({Put(Level::System(), {{"rpm", PerSecond(1)}})}, Deadline::Never(),
                            [](const Status&) {});
    resolver.Resolve("tenant", "gpt-4", Deadline::Never(), [](const auto&) {});
  }
  for (auto _ : state) benchmark::DoNotOptimize(resolver.Find("tenant", "gpt-4"));
  state.SetLabel("vs limiter_clock");
}
BENCHMARK(limiter_resolve_hit)->ThreadRange(1, 2)->UseRealTime();

void limiter_acquire_empty_store(benchmark::State& state) {
  Acquire(state, Empty());
  state.SetLabel("vs limiter_clock");
}
BENCHMARK(limiter_acquire_empty_store)->ThreadRange(1, 2)->UseRealTime();

void limiter_acquire_memory(benchmark::State& state) {
  Acquire(state, InMemory());
  state.SetLabel("vs limiter_acquire_empty_store");
}
BENCHMARK(limiter_acquire_memory)->ThreadRange(1, 2)->UseRealTime();

void limiter_acquire_all_1_memory(benchmark::State& state) {
  AcquireAll(state, InMemory(), 1);
  state.SetLabel("vs limiter_acquire_memory");
}
BENCHMARK(limiter_acquire_all_1_memory)->ThreadRange(1, 2)->UseRealTime();

void limiter_acquire_all_3_memory(benchmark::State& state) {
  AcquireAll(state, InMemory(), 3);
  state.SetLabel("vs limiter_acquire_memory");
}
BENCHMARK(limiter_acquire_all_3_memory)->ThreadRange(1, 2)->UseRealTime();

}  // namespace
