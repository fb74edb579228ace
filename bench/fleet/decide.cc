// Decisions on keys of a table, and the CPU time that this process uses for them.
//
// usage: weir_bench_fleet URL CALLERS COUNT AT_ONCE KEYS
//
// CALLERS is "blocking" (AT_ONCE threads) or "callbacks" (AT_ONCE requests in flight, each of which
// starts the next one when it completes). Every caller makes COUNT / AT_ONCE decisions. If there
// are enough keys, each caller has keys of its own and uses them in turn.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "bench/cpu_seconds.h"
#include "weir/backends/open.h"
#include "weir/limiter/limiter.h"
#include "weir/runtime/await.h"
#include "weir/runtime/loop.h"

namespace weir {
namespace {

constexpr int kWarmUp = 100;        // decisions on all keys together, ...
constexpr int kWarmUpOfOneKey = 2;  // ... but at least this many on each: one creates its bucket

struct Load {
  bool callbacks;
  int count;
  int at_once;
  int keys;
};

/// The keys of one caller, in turn.
class KeyCycle {
 public:
  KeyCycle(int caller, const Load& load)
      : caller_(caller),
        at_once_(load.at_once),
        keys_(load.keys),
        length_(std::max(1, (keys_ - caller_ + at_once_ - 1) / at_once_)) {}

  int Next() { return (caller_ + at_once_ * (index_++ % length_)) % keys_; }

 private:
  int caller_;
  int at_once_;
  int keys_;
  int length_;
  int index_ = 0;
};

std::string EntityOf(int key) { return fmt::format("of-weir-{}", key); }

AcquireRequest RequestOn(const std::string& entity) {
  return {.entity = entity, .resource = "llm", .amounts = {{"rpm", 1}}};
}

Deadline DeadlineOf(const Clock& clock) { return Deadline::After(clock, std::chrono::seconds(10)); }

Status StatusOf(const Result<Outcome>& outcome) {
  if (!outcome) return Fail(outcome.error());
  if (!outcome->admitted()) return Fail(Code::kInternal, "refused: the limit is too small");
  return {};
}

Status Decide(Limiter& limiter, const Clock& clock, KeyCycle keys, int count) {
  for (int i = 0; i < count; ++i) {
    const std::string entity = EntityOf(keys.Next());
    const auto outcome = limiter.Acquire(RequestOn(entity), DeadlineOf(clock));
    WEIR_RETURN_IF_ERROR(StatusOf(outcome));
  }
  return {};
}

Status DecideOnThreads(Limiter& limiter, const Clock& clock, const Load& load) {
  std::vector<Status> results(static_cast<std::size_t>(load.at_once));
  std::vector<std::jthread> threads;
  int caller = 0;
  for (Status& result : results) {
    threads.emplace_back([&, keys = KeyCycle(caller++, load)] {
      result = Decide(limiter, clock, keys, load.count / load.at_once);
    });
  }
  threads.clear();
  for (const Status& result : results) WEIR_RETURN_IF_ERROR(result);
  return {};
}

/// Keeps one request in flight. (DynamoDB's callback never runs before Acquire returns, so the
/// calls do not nest.)
class CallbackCaller {
 public:
  CallbackCaller(Limiter& limiter, const Clock& clock, KeyCycle keys, int count)
      : limiter_(limiter), clock_(clock), keys_(keys), left_(count) {}

  void Go(Done<void> done) {
    if (left_-- == 0) return done({});
    const std::string entity = EntityOf(keys_.Next());
    limiter_.Acquire(RequestOn(entity), DeadlineOf(clock_),
                     [this, done = std::move(done)](const Result<Outcome>& outcome) mutable {
                       if (Status status = StatusOf(outcome); !status) return done(status);
                       Go(std::move(done));
                     });
  }

 private:
  Limiter& limiter_;
  const Clock& clock_;
  KeyCycle keys_;
  int left_;
};

Status DecideByCallbacks(Limiter& limiter, const Clock& clock, const Load& load) {
  std::vector<CallbackCaller> callers;
  for (int i = 0; i < load.at_once; ++i) {
    callers.emplace_back(limiter, clock, KeyCycle(i, load), load.count / load.at_once);
  }
  const auto results = AwaitAll<void>(
      callers.size(), [&](std::size_t i, Done<void> done) { callers[i].Go(std::move(done)); });
  for (const Status& result : results) WEIR_RETURN_IF_ERROR(result);
  return {};
}

Status WarmUp(Limiter& limiter, const Clock& clock, const Load& load) {
  const Load alone{.callbacks = false, .count = 0, .at_once = 1, .keys = load.keys};
  const int rounds = std::max(kWarmUpOfOneKey, kWarmUp / load.keys);
  return Decide(limiter, clock, KeyCycle(0, alone), rounds * load.keys);
}

Status Measure(const char* url, const Load& load) {
  const SystemClock clock;
  Loop loop(clock);
  WEIR_ASSIGN_OR_RETURN(const auto backend, OpenBackend(url, clock));
  Limiter limiter(*backend, loop);
  WEIR_RETURN_IF_ERROR(WarmUp(limiter, clock, load));
  const Instant begun = clock.Now();
  const double before = CpuSeconds();
  WEIR_RETURN_IF_ERROR(
      (load.callbacks ? DecideByCallbacks : DecideOnThreads)(limiter, clock, load));
  const double cpu = CpuSeconds() - before;
  const std::chrono::duration<double> wall = clock.Now() - begun;
  fmt::print("{{\"decisions\": {}, \"cpu_s\": {:.6f}, \"wall_s\": {:.6f}}}\n",
             load.count / load.at_once * load.at_once, cpu, wall.count());
  return {};
}

int Number(const char* text) {
  int number = 0;
  std::from_chars(text, text + std::strlen(text), number);
  return number;
}

std::optional<Load> LoadOf(int argc, char** argv) {
  if (argc != 6) return std::nullopt;
  const std::string_view callers = argv[2];
  const Load load{.callbacks = callers == "callbacks",
                  .count = Number(argv[3]),
                  .at_once = Number(argv[4]),
                  .keys = Number(argv[5])};
  const bool known = load.callbacks || callers == "blocking";
  if (!known || load.count <= 0 || load.at_once <= 0 || load.keys <= 0) return std::nullopt;
  return load;
}

int Main(int argc, char** argv) {
  const std::optional<Load> load = LoadOf(argc, argv);
  if (!load) {
    std::cerr << "usage: weir_bench_fleet URL blocking|callbacks COUNT AT_ONCE KEYS\n";
    return 2;
  }
  const Status measured = Measure(argv[1], *load);
  if (!measured) std::cerr << "weir_bench_fleet: " << measured.error().message << '\n';
  return measured ? 0 : 1;
}

}  // namespace
}  // namespace weir

int main(int argc, char** argv) { return weir::Main(argc, argv); }
