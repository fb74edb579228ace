// Decisions on one key of a table and what they cost this process in CPU time.
// usage: weir_bench_fleet URL COUNT WORKERS     each worker asks COUNT / WORKERS times
#include <fmt/format.h>

#include <charconv>
#include <cstring>
#include <iostream>
#include <thread>
#include <vector>

#include "bench/cpu_seconds.h"
#include "weir/backends/open.h"
#include "weir/limiter/limiter.h"
#include "weir/runtime/loop.h"

namespace weir {
namespace {

constexpr int kWarmUp = 100;

Status Decide(Limiter& limiter, const Clock& clock, int count) {
  for (int i = 0; i < count; ++i) {
    const auto outcome =
        limiter.Acquire({.entity = "of-weir", .resource = "llm", .amounts = {{"rpm", 1}}},
                        Deadline::After(clock, std::chrono::seconds(10)));
    if (!outcome) return Fail(outcome.error());
    if (!outcome->admitted()) return Fail(Code::kInternal, "refused: the limit is too small");
  }
  return {};
}

Status DecideOnThreads(Limiter& limiter, const Clock& clock, int count, int workers) {
  std::vector<Status> ends(static_cast<std::size_t>(workers));
  std::vector<std::jthread> threads;
  for (Status& end : ends) {
    threads.emplace_back([&] { end = Decide(limiter, clock, count / workers); });
  }
  threads.clear();
  for (const Status& end : ends) WEIR_RETURN_IF_ERROR(end);
  return {};
}

Status Measure(const char* url, int count, int workers) {
  const SystemClock clock;
  Loop loop(clock);
  WEIR_ASSIGN_OR_RETURN(const auto backend, OpenBackend(url, clock));
  Limiter limiter(*backend, loop);
  WEIR_RETURN_IF_ERROR(Decide(limiter, clock, kWarmUp));
  const Instant begun = clock.Now();
  const double before = CpuSeconds();
  WEIR_RETURN_IF_ERROR(DecideOnThreads(limiter, clock, count, workers));
  const double cpu = CpuSeconds() - before;
  const std::chrono::duration<double> wall = clock.Now() - begun;
  fmt::print("{{\"decisions\": {}, \"cpu_s\": {:.6f}, \"wall_s\": {:.6f}}}\n",
             count / workers * workers, cpu, wall.count());
  return {};
}

int Number(const char* text) {
  int number = 0;
  std::from_chars(text, text + std::strlen(text), number);
  return number;
}

int Main(int argc, char** argv) {
  const int count = argc == 4 ? Number(argv[2]) : 0;
  const int workers = argc == 4 ? Number(argv[3]) : 0;
  if (count <= 0 || workers <= 0) {
    std::cerr << "usage: weir_bench_fleet URL COUNT WORKERS\n";
    return 2;
  }
  const Status measured = Measure(argv[1], count, workers);
  if (!measured) std::cerr << "weir_bench_fleet: " << measured.error().message << '\n';
  return measured ? 0 : 1;
}

}  // namespace
}  // namespace weir

int main(int argc, char** argv) { return weir::Main(argc, argv); }
