// The cost of a decision with all parts: Limiter, cascade to a parent, two limits on each, the
// embedded store on a file, entities drawn by Zipf 1.0 from 100,000.
#include <benchmark/benchmark.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "weir/base/rng.h"
#include "weir/embedded/embedded_backend.h"
#include "weir/limiter/limiter.h"
#include "weir/runtime/loop.h"
#include "weir/store/memory/memory_backend.h"

namespace weir {
namespace {

constexpr std::size_t kEntities = 100'000;
constexpr std::size_t kParents = 1'000;
constexpr std::size_t kDraws = 1U << 20;
constexpr nanoseconds kRun = std::chrono::seconds(2);

enum class Kind { kMemory, kRelaxed, kStrict };

std::vector<ConfigChange> Configuration() {
  // Far above the benchmark's rate: every decision is admitted and debits all four limits.
  std::vector<ConfigChange> changes{PutLimits{
      Level::System(),
      {.limits = {{"rpm", PerMinute(1'000'000'000)}, {"tpm", PerMinute(1'000'000'000'000)}}}}};
  for (std::size_t i = 0; i < kEntities; ++i) {
    Entity user{.id = "user-" + std::to_string(i)};
    user.parent = "team-" + std::to_string(i % kParents);
    user.cascade = true;
    changes.emplace_back(PutEntity{{std::move(user)}});
  }
  return changes;
}

// A limiter on a new store, after one request for every entity.
class Setup {
 public:
  explicit Setup(Kind kind) : loop_(clock_), commits_(clock_) {
    std::string pattern = (std::filesystem::temp_directory_path() / "weir-bench-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
    backend_ = Open(kind);
    limiter_ = std::make_unique<Limiter>(*backend_, loop_);
    if (!limiter_->Apply(Configuration(), Deadline::Never())) std::abort();
    for (std::size_t i = 0; i < kEntities; ++i) {
      names_.push_back("user-" + std::to_string(i));
      if (!limiter_->Resolve(names_.back(), "llm", Deadline::Never())) std::abort();
    }
  }
  ~Setup() {
    limiter_.reset();
    if (!backend_->Close()) std::abort();
    std::filesystem::remove_all(folder_);
  }

  Limiter& limiter() { return *limiter_; }
  Instant Now() const { return clock_.Now(); }
  const std::string& name(std::size_t i) const { return names_[i]; }

 private:
  std::unique_ptr<Backend> Open(Kind kind) {
    if (kind == Kind::kMemory) return MakeMemoryBackend({}, &clock_);
    const auto durability = kind == Kind::kStrict ? Durability::kStrict : Durability::kRelaxed;
    auto opened = OpenEmbedded(folder_ / "bench.db", commits_, {.durability = durability});
    if (!opened) std::abort();
    return std::move(*opened);
  }

  SystemClock clock_;
  Loop loop_;
  Loop commits_;
  std::filesystem::path folder_;
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Limiter> limiter_;
  std::vector<std::string> names_;
};

std::vector<std::uint32_t> Draws(std::uint64_t seed) {
  static const Zipf zipf(kEntities, 1.0);
  Rng rng(seed);
  std::vector<std::uint32_t> draws(kDraws);
  for (std::uint32_t& draw : draws) draw = static_cast<std::uint32_t>(zipf.Draw(rng));
  return draws;
}

AcquireRequest Request() {
  return {.entity = {}, .resource = "llm", .amounts = {{"rpm", 1}, {"tpm", 500}}};
}

// Makes decisions on one thread until `end`. Returns how many.
std::uint64_t Work(Setup& setup, const std::vector<std::uint32_t>& draws, Instant end) {
  AcquireRequest request = Request();
  std::uint64_t count = 0;
  while (setup.Now() < end) {
    for (int i = 0; i < 64; ++i) {
      request.entity = setup.name(draws[count++ % kDraws]);
      const auto outcome = setup.limiter().Acquire(request, Deadline::Never());
      if (!outcome || !outcome->admitted()) std::abort();
    }
  }
  return count;
}

std::uint64_t WorkTogether(Setup& setup, std::size_t threads) {
  std::vector<std::vector<std::uint32_t>> draws;
  for (std::size_t i = 0; i < threads; ++i) draws.push_back(Draws(i + 1));
  std::atomic<std::uint64_t> total = 0;
  const Instant end = setup.Now() + kRun;
  std::vector<std::thread> workers;
  for (std::size_t i = 0; i < threads; ++i) {
    workers.emplace_back([&setup, &draws, &total, i, end] { total += Work(setup, draws[i], end); });
  }
  for (std::thread& worker : workers) worker.join();
  return total;
}

void Threads(benchmark::State& state, Kind kind, std::size_t threads) {
  Setup setup(kind);
  WorkTogether(setup, threads);  // creates every bucket, and lets the interval of commits settle
  for (auto _ : state) {
    const Instant begin = setup.Now();
    const std::uint64_t count = WorkTogether(setup, threads);
    state.SetIterationTime(std::chrono::duration<double>(setup.Now() - begin).count());
    state.SetItemsProcessed(static_cast<std::int64_t>(count));
  }
}

// Keeps a number of requests in flight: each callback starts the next request.
class InFlight {
 public:
  InFlight(Setup& setup, const std::vector<std::uint32_t>& draws) : setup_(setup), draws_(draws) {}

  std::uint64_t Run(std::size_t many) {
    end_ = setup_.Now() + kRun;
    under_way_ = many;
    for (std::size_t i = 0; i < many; ++i) Ask();
    while (const std::size_t left = under_way_.load()) under_way_.wait(left);
    return completed_;
  }

 private:
  void Ask() {
    AcquireRequest request = Request();
    request.entity = setup_.name(draws_[asked_.fetch_add(1) % kDraws]);
    setup_.limiter().Acquire(request, Deadline::Never(), [this](Result<Outcome> outcome) {
      if (!outcome || !outcome->admitted()) std::abort();
      ++completed_;
      if (setup_.Now() < end_) return Ask();
      under_way_.fetch_sub(1);
      under_way_.notify_one();
    });
  }

  Setup& setup_;
  const std::vector<std::uint32_t>& draws_;
  Instant end_;
  std::atomic<std::uint64_t> asked_ = 0;
  std::atomic<std::uint64_t> completed_ = 0;
  std::atomic<std::size_t> under_way_ = 0;
};

void Strict(benchmark::State& state, std::size_t in_flight) {
  Setup setup(Kind::kStrict);
  const std::vector<std::uint32_t> draws = Draws(1);
  InFlight(setup, draws).Run(in_flight);
  for (auto _ : state) {
    const Instant begin = setup.Now();
    const std::uint64_t count = InFlight(setup, draws).Run(in_flight);
    state.SetIterationTime(std::chrono::duration<double>(setup.Now() - begin).count());
    state.SetItemsProcessed(static_cast<std::int64_t>(count));
  }
}

void memory_2t(benchmark::State& state) { Threads(state, Kind::kMemory, 2); }

void embedded_relaxed_1t(benchmark::State& state) {
  Threads(state, Kind::kRelaxed, 1);
  state.SetLabel("vs embedded_relaxed_2t");
}

void embedded_relaxed_2t(benchmark::State& state) {
  Threads(state, Kind::kRelaxed, 2);
  state.SetLabel("vs memory_2t");
}

void embedded_strict_1(benchmark::State& state) { Strict(state, 1); }

void embedded_strict_256(benchmark::State& state) {
  Strict(state, 256);
  state.SetLabel("vs embedded_strict_1");
}

BENCHMARK(memory_2t)->Iterations(1)->UseManualTime();
BENCHMARK(embedded_relaxed_1t)->Iterations(1)->UseManualTime();
BENCHMARK(embedded_relaxed_2t)->Iterations(1)->UseManualTime();
BENCHMARK(embedded_strict_1)->Iterations(1)->UseManualTime();
BENCHMARK(embedded_strict_256)->Iterations(1)->UseManualTime();

}  // namespace
}  // namespace weir
