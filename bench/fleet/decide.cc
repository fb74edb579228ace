// Decisions on keys of a table and what they cost this process in CPU time.
// usage: weir_bench_fleet URL COUNT WORKERS KEYS     each worker asks COUNT / WORKERS times, on one
//                                                    of the keys
#include <fmt/format.h>

#include <charconv>
#include <cstring>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "bench/cpu_seconds.h"
#include "weir/backends/open.h"
#include "weir/limiter/limiter.h"
#include "weir/runtime/loop.h"

namespace weir {
namespace {

constexpr int kWarmUp = 100;

struct Load {
  int count;
  int workers;
  int keys;
};

Status Decide(Limiter& limiter, const Clock& clock, int key, int count) {
  const std::string entity = fmt::format("of-weir-{}", key);
  for (int i = 0; i < count; ++i) {
    const auto outcome =
        limiter.Acquire({.entity = entity, .resource = "llm", .amounts = {{"rpm", 1}}},
                        Deadline::After(clock, std::chrono::seconds(10)));
    if (!outcome) return Fail(outcome.error());
    if (!outcome->admitted()) return Fail(Code::kInternal, "refused: the limit is too small");
  }
  return {};
}

Status DecideOnThreads(Limiter& limiter, const Clock& clock, const Load& load) {
  std::vector<Status> ends(static_cast<std::size_t>(load.workers));
  std::vector<std::jthread> threads;
  int worker = 0;
  for (Status& end : ends) {
    threads.emplace_back([&, key = worker++ % load.keys] {
      end = Decide(limiter, clock, key, load.count / load.workers);
    });
  }
  threads.clear();
  for (const Status& end : ends) WEIR_RETURN_IF_ERROR(end);
  return {};
}

Status Measure(const char* url, const Load& load) {
  const SystemClock clock;
  Loop loop(clock);
  WEIR_ASSIGN_OR_RETURN(const auto backend, OpenBackend(url, clock));
  Limiter limiter(*backend, loop);
  for (int key = 0; key < load.keys; ++key) {
    WEIR_RETURN_IF_ERROR(Decide(limiter, clock, key, kWarmUp / load.keys));
  }
  const Instant begun = clock.Now();
  const double before = CpuSeconds();
  WEIR_RETURN_IF_ERROR(DecideOnThreads(limiter, clock, load));
  const double cpu = CpuSeconds() - before;
  const std::chrono::duration<double> wall = clock.Now() - begun;
  fmt::print("{{\"decisions\": {}, \"cpu_s\": {:.6f}, \"wall_s\": {:.6f}}}\n",
             load.count / load.workers * load.workers, cpu, wall.count());
  return {};
}

int Number(const char* text) {
  int number = 0;
  std::from_chars(text, text + std::strlen(text), number);
  return number;
}

int Main(int argc, char** argv) {
  const bool complete = argc == 5;
  const Load load{.count = complete ? Number(argv[2]) : 0,
                  .workers = complete ? Number(argv[3]) : 0,
                  .keys = complete ? Number(argv[4]) : 0};
  if (load.count <= 0 || load.workers <= 0 || load.keys <= 0) {
    std::cerr << "usage: weir_bench_fleet URL COUNT WORKERS KEYS\n";
    return 2;
  }
  const Status measured = Measure(argv[1], load);
  if (!measured) std::cerr << "weir_bench_fleet: " << measured.error().message << '\n';
  return measured ? 0 : 1;
}

}  // namespace
}  // namespace weir

int main(int argc, char** argv) { return weir::Main(argc, argv); }
