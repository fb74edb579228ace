// Benchmarks of the limiters inside a process. Unless the name says otherwise, the clock is one
// cached word; it is updated before each batch, so that time advances.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <latch>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "weir/bucket/atomic_bucket.h"
#include "weir/bucket/credit_bucket.h"
#include "weir/bucket/keyed_bucket.h"

namespace weir {
namespace {

constexpr std::int64_t kBatch = 4096;
constexpr std::uint64_t kKeys = 1'000'000;
constexpr Quota kAllowing = PerSecond(1'000'000'000);
constexpr Quota kDenying = PerHour(1);

std::atomic<std::int64_t> cached_nanos;

// Moves the clock forwards only, also if a thread lost its processor between reading and storing.
void UpdateClock() {
  const std::int64_t now = SteadyClock().Nanos();
  std::int64_t old = cached_nanos.load(std::memory_order_relaxed);
  while (old < now && !cached_nanos.compare_exchange_weak(old, now, std::memory_order_relaxed)) {
  }
}

CachedClock NewClock() {
  UpdateClock();
  return CachedClock(cached_nanos);
}

template <class Decide>
void Loop(benchmark::State& state, Decide decide) {
  while (state.KeepRunningBatch(kBatch)) {
    UpdateClock();
    for (std::int64_t i = 0; i < kBatch; ++i) benchmark::DoNotOptimize(decide());
  }
}

// A common token bucket: doubles under a mutex.
template <NanoClock C>
class MutexDouble {
 public:
  MutexDouble(double per_second, C clock)
      : rate_(per_second / 1e9), tokens_(per_second), clock_(clock), last_(clock.Nanos()) {}

  bool TryTake() {
    const std::lock_guard lock(mutex_);
    const std::int64_t now = clock_.Nanos();
    tokens_ = std::min(rate_ * 1e9, tokens_ + static_cast<double>(now - last_) * rate_);
    last_ = now;
    if (tokens_ < 1) return false;
    tokens_ -= 1;
    return true;
  }

 private:
  std::mutex mutex_;
  const double rate_;
  double tokens_;
  const C clock_;
  std::int64_t last_;
};

void bare_fetch_sub(benchmark::State& state) {
  std::atomic<std::int64_t> word = INT64_MAX;
  Loop(state, [&] { return word.fetch_sub(1, std::memory_order_relaxed) > 0; });
}

void atomic_allow(benchmark::State& state) {
  AtomicBucket bucket(kAllowing, NewClock());
  Loop(state, [&] { return bucket.TryTake(); });
  state.SetLabel("vs bare_fetch_sub");
}

void atomic_deny(benchmark::State& state) {
  AtomicBucket bucket(kDenying, NewClock());
  bucket.TryTake();
  Loop(state, [&] { return bucket.TryTake(); });
  state.SetLabel("vs atomic_allow");
}

template <NanoClock C>
void Atomic(benchmark::State& state, C clock, const char* label) {
  AtomicBucket bucket(kAllowing, clock);
  Loop(state, [&] { return bucket.TryTake(); });
  state.SetLabel(label);
}

template <NanoClock C>
void Mutex(benchmark::State& state, C clock) {
  MutexDouble bucket(1e9, clock);
  Loop(state, [&] { return bucket.TryTake(); });
}

void mutex_double_cached(benchmark::State& state) { Mutex(state, NewClock()); }
void mutex_double_coarse(benchmark::State& state) { Mutex(state, CoarseClock()); }
void mutex_double_steady(benchmark::State& state) { Mutex(state, SteadyClock()); }
void atomic_cached(benchmark::State& state) { Atomic(state, NewClock(), "vs mutex_double_cached"); }
void atomic_coarse(benchmark::State& state) {
  Atomic(state, CoarseClock(), "vs mutex_double_coarse");
}
void atomic_steady(benchmark::State& state) {
  Atomic(state, SteadyClock(), "vs mutex_double_steady");
}

double CpuSeconds(auto work) {
  const std::int64_t begin = NanosOf(CLOCK_THREAD_CPUTIME_ID);
  work();
  return static_cast<double>(NanosOf(CLOCK_THREAD_CPUTIME_ID) - begin) / 1e9;
}

// Reports the total rate of `threads` threads that run `work(thread)`, each for `decisions`
// decisions, at the same time. Each thread is measured by its own CPU time, which other processes
// on the machine do not lengthen.
template <class Work>
void Together(benchmark::State& state, int threads, std::int64_t decisions, Work work) {
  for (auto _ : state) {
    std::latch start(threads);
    std::atomic<double> rate = 0;
    const auto run = [&](int thread) {
      start.arrive_and_wait();
      rate += static_cast<double>(decisions) / CpuSeconds([&] { work(thread); });
    };
    std::vector<std::thread> others;
    for (int i = 1; i < threads; ++i) others.emplace_back(run, i);
    run(0);
    for (std::thread& other : others) other.join();
    state.SetIterationTime(static_cast<double>(decisions * threads) / rate);
  }
  state.SetItemsProcessed(state.iterations() * decisions * threads);
}

// Uses blocks of 10,000, so that handles go to the kernel as often as in a busy program.
void Credit(benchmark::State& state, int threads) {
  constexpr std::int64_t kDecisions = 12'000 * kBatch;
  CreditBucket bucket(PerSecond(10'000'000'000).Burst(80'000), 2, NewClock());
  std::atomic<std::int64_t> refused = 0;
  Together(state, threads, kDecisions, [&](int) {
    auto handle = bucket.NewHandle();
    std::int64_t admitted = 0;
    for (std::int64_t done = 0; done < kDecisions; done += kBatch) {
      UpdateClock();
      for (std::int64_t i = 0; i < kBatch; ++i) {
        const bool took = handle.TryTake();
        benchmark::DoNotOptimize(took);
        admitted += took ? 1 : 0;
      }
    }
    refused += kDecisions - admitted;
  });
  if (refused > 0) state.SkipWithError("the limit was reached");
}

void credit_1t(benchmark::State& state) { Credit(state, 1); }
void credit_2t(benchmark::State& state) {
  Credit(state, 2);
  state.SetLabel("vs credit_1t");
}

// Draws keys from a xorshift64 generator (13, 7, 17), uniform in [0, kKeys).
class KeyDraw {
 public:
  explicit KeyDraw(std::uint64_t seed) : x_(seed) {}
  std::uint64_t operator()() {
    x_ ^= x_ << 13;
    x_ ^= x_ >> 7;
    x_ ^= x_ << 17;
    return static_cast<std::uint64_t>((Uint128{x_} * kKeys) >> 64);
  }

 private:
  __extension__ using Uint128 = unsigned __int128;
  std::uint64_t x_;
};

using Keyed = KeyedBucket<std::uint64_t, CachedClock>;

std::unique_ptr<Keyed> FilledKeyed() {
  auto buckets = std::make_unique<Keyed>(kAllowing, NewClock());
  for (std::uint64_t key = 0; key < kKeys; ++key) buckets->TryTake(key);
  return buckets;
}

// The lower bound for a million keys: one compare-and-swap in a random one of a million cache
// lines.
void cas_1m(benchmark::State& state) {
  struct alignas(64) Line {
    std::atomic<std::uint64_t> word = 0;
  };
  std::vector<Line> lines(kKeys);
  KeyDraw draw(88'172'645'463'325'252);
  Loop(state, [&] {
    std::atomic<std::uint64_t>& word = lines[draw()].word;
    std::uint64_t old = word.load(std::memory_order_relaxed);
    return word.compare_exchange_strong(old, old + 1, std::memory_order_relaxed);
  });
}

void keyed_1m(benchmark::State& state) {
  const auto buckets = FilledKeyed();
  KeyDraw draw(88'172'645'463'325'252);
  Loop(state, [&] { return buckets->TryTake(draw()); });
  state.SetLabel("vs cas_1m");
}

void KeyedTogether(benchmark::State& state, int threads) {
  constexpr std::int64_t kDecisions = 1'000 * kBatch;
  const auto buckets = FilledKeyed();
  Together(state, threads, kDecisions, [&](int thread) {
    KeyDraw draw(88'172'645'463'325'252 + static_cast<std::uint64_t>(thread));
    for (std::int64_t done = 0; done < kDecisions; done += kBatch) {
      UpdateClock();
      for (std::int64_t i = 0; i < kBatch; ++i) benchmark::DoNotOptimize(buckets->TryTake(draw()));
    }
  });
}

void keyed_1m_1t(benchmark::State& state) { KeyedTogether(state, 1); }
void keyed_1m_2t(benchmark::State& state) {
  KeyedTogether(state, 2);
  state.SetLabel("vs keyed_1m_1t");
}

// A stripe of a KeyedBucket: every insertion is of a new key, and 1,008 keys are not full at the
// same time.
void Churn(benchmark::State& state, std::uint32_t room) {
  constexpr std::uint64_t kLive = 1008;
  const HashSecret secret = HashSecret::From(1);
  KeyTable<std::uint64_t> table(room);
  std::uint64_t now = 0;
  Loop(state, [&] {
    ++now;
    std::uint64_t* const word =
        table.Insert(now, KeyHash<std::uint64_t>()(now, secret), now, secret);
    if (word != nullptr) *word = now + kLive;
    return word;
  });
}

void key_table_churn(benchmark::State& state) { Churn(state, 1U << 16); }
void key_table_churn_at_room(benchmark::State& state) {
  Churn(state, 1U << 10);
  state.SetLabel("vs key_table_churn");
}

BENCHMARK(bare_fetch_sub);
BENCHMARK(atomic_allow);
BENCHMARK(atomic_deny);
BENCHMARK(mutex_double_cached);
BENCHMARK(mutex_double_coarse);
BENCHMARK(mutex_double_steady);
BENCHMARK(atomic_cached);
BENCHMARK(atomic_coarse);
BENCHMARK(atomic_steady);
BENCHMARK(credit_1t)->Iterations(1)->UseManualTime();
BENCHMARK(credit_2t)->Iterations(1)->UseManualTime();
BENCHMARK(cas_1m);
BENCHMARK(keyed_1m);
BENCHMARK(key_table_churn);
BENCHMARK(key_table_churn_at_room);
BENCHMARK(keyed_1m_1t)->Iterations(1)->UseManualTime();
BENCHMARK(keyed_1m_2t)->Iterations(1)->UseManualTime();

}  // namespace
}  // namespace weir
