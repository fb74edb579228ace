// Weir's part of the comparison with governor. src/main.rs has the same loops.
//
//     weir_bench_peers CASE...      prints one line for each: the case and nanoseconds per decision
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weir/bucket/atomic_bucket.h"
#include "weir/bucket/keyed_bucket.h"

namespace weir {
namespace {

constexpr std::uint64_t kBatch = 4096;
constexpr std::uint64_t kBatches = 512;
constexpr std::size_t kSamples = 7;
constexpr std::uint64_t kKeys = 1'000'000;

// The cached time. Sample updates it before each batch.
std::atomic<std::int64_t> cached_nanos;

void UpdateClock() { cached_nanos.store(SteadyClock().Nanos(), std::memory_order_relaxed); }

CachedClock NewClock() {
  UpdateClock();
  return CachedClock(cached_nanos);
}

inline std::uint64_t Opaque(std::uint64_t word) {
  asm volatile("" : "+r"(word) : : "memory");
  return word;
}

inline void Consume(bool result) { asm volatile("" : : "r"(std::uint64_t{result}) : "memory"); }

double Sample(auto& decide) {
  std::uint64_t x = 88'172'645'463'325'252;
  const std::int64_t begin = NanosOf(CLOCK_THREAD_CPUTIME_ID);
  for (std::uint64_t batch = 0; batch < kBatches; ++batch) {
    UpdateClock();
    for (std::uint64_t i = 0; i < kBatch; ++i) {
      x ^= x << 13;
      x ^= x >> 7;
      x ^= x << 17;
      Consume(decide(Opaque(x)));
    }
  }
  return static_cast<double>(NanosOf(CLOCK_THREAD_CPUTIME_ID) - begin) / (kBatch * kBatches);
}

double Measure(auto decide) {
  std::array<double, kSamples> samples;
  for (double& sample : samples) sample = Sample(decide);
  std::sort(samples.begin(), samples.end());
  return samples[kSamples / 2];
}

constexpr Quota kFast = PerSecond(1'000'000'000);

double OneKey(const Quota& quota) {
  AtomicBucket bucket(quota, NewClock());
  bucket.TryTake();
  return Measure([&](std::uint64_t) { return bucket.TryTake(); });
}

__extension__ using Uint128 = unsigned __int128;

std::uint64_t KeyOf(std::uint64_t x) {
  return static_cast<std::uint64_t>((Uint128{x} * kKeys) >> 64);
}

double IntegerKeys() {
  KeyedBucket<std::uint64_t, CachedClock> buckets(kFast, NewClock());
  for (std::uint64_t key = 0; key < kKeys; ++key) buckets.TryTake(key);
  return Measure([&](std::uint64_t x) { return buckets.TryTake(KeyOf(x)); });
}

double StringKeys() {
  KeyedBucket<std::string, CachedClock> buckets(kFast, NewClock());
  std::vector<std::string> names;
  for (std::uint64_t key = 0; key < kKeys; ++key)
    names.push_back(fmt::format("tenant-{:012}", key));
  for (const std::string& name : names) buckets.TryTake(name);
  return Measure([&](std::uint64_t x) { return buckets.TryTake(names[KeyOf(x)]); });
}

double Run(std::string_view name) {
  if (name == "loop") return Measure([](std::uint64_t x) { return x != 0; });
  if (name == "allow") return OneKey(kFast);
  if (name == "deny") return OneKey(PerHour(1));
  if (name == "keyed_1m") return IntegerKeys();
  if (name == "keyed_1m_strings") return StringKeys();
  fmt::print(stderr, "unknown case {}: loop, allow, deny, keyed_1m, keyed_1m_strings\n", name);
  std::exit(2);
}

}  // namespace
}  // namespace weir

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) fmt::print("{} {:.3f}\n", argv[i], weir::Run(argv[i]));
}
