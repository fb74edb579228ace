// Measures the cost of the file: the time to open a large one, and the bytes that a decision
// writes.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "weir/base/rng.h"
#include "weir/embedded/embedded_backend.h"

namespace weir {
namespace {

constexpr UnixMillis kNow{1'767'225'600'013};
constexpr std::size_t kBuckets = 1'000'000;

// A scheduler that runs tasks only in RunOne.
class StepScheduler final : public Scheduler {
 public:
  const Clock& clock() const override { return clock_; }
  void Post(Task task) override { At(clock_.Now(), std::move(task)); }
  TimerId At(Instant, Task task) override {
    tasks_.emplace(++last_, std::move(task));
    return TimerId{last_};
  }
  bool Cancel(TimerId id) override { return tasks_.erase(static_cast<std::uint64_t>(id)) > 0; }

  bool RunOne() {
    if (tasks_.empty()) return false;
    Task task = std::move(tasks_.extract(tasks_.begin()).mapped());
    task();
    return true;
  }

 private:
  SystemClock clock_;
  std::uint64_t last_ = 0;
  std::map<std::uint64_t, Task> tasks_;
};

// A backend on a new file in a folder of its own.
class Scratch {
 public:
  Scratch() {
    std::string name = (std::filesystem::temp_directory_path() / "weir-XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  ~Scratch() { std::filesystem::remove_all(folder_); }

  std::unique_ptr<EmbeddedBackend> Open(const EmbeddedOptions& options = {}) {
    auto opened = OpenEmbedded(path(), scheduler_, options);
    if (!opened) std::abort();
    return *std::move(opened);
  }
  StepScheduler& scheduler() { return scheduler_; }
  std::string path() const { return folder_ / "weir.db"; }

 private:
  StepScheduler scheduler_;
  std::filesystem::path folder_;
};

std::vector<TargetPtr> Targets(const std::string& stem, std::size_t count) {
  const std::vector<Limit> limits = {{"rpm", PerMinute(1'000'000)}, {"tpm", PerHour(50'000'000)}};
  std::vector<TargetPtr> targets;
  for (std::size_t i = 0; i < count; ++i) {
    targets.push_back(MakeTarget({fmt::format("{}-{}", stem, i), "gpt-4", 0}, limits));
  }
  return targets;
}

void Charged(EmbeddedBackend& backend, std::span<const Charge> charges) {
  backend.buckets().Acquire(charges, kNow, Deadline::Never(), [](Result<Decision> decision) {
    if (!decision || !decision->admitted) std::abort();
  });
}

// Makes a file with a million buckets, in the table or still in the log, as after a kill.
std::unique_ptr<Scratch> MakeFile(bool in_log) {
  auto scratch = std::make_unique<Scratch>();
  const auto backend = scratch->Open({.fold_bytes = SIZE_MAX});
  for (const TargetPtr& target : Targets("customer", kBuckets)) {
    const std::vector<Charge> charges = {{target, {1500, 700'000}}};
    Charged(*backend, charges);
  }
  scratch->scheduler().RunOne();
  if (!in_log) return scratch;
  auto killed = std::make_unique<Scratch>();
  for (const char* suffix : {"", "-wal"}) {
    std::filesystem::copy(scratch->path() + suffix, killed->path() + suffix);
  }
  return killed;
}

void Recover(benchmark::State& state, Scratch& scratch) {
  for (auto _ : state) {
    auto backend = scratch.Open();
    state.PauseTiming();
    backend.reset();
    state.ResumeTiming();
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(kBuckets));
}

void recovery_1m_buckets(benchmark::State& state) {
  static const std::unique_ptr<Scratch> scratch = MakeFile(/*in_log=*/false);
  Recover(state, *scratch);
}

void recovery_1m_in_log(benchmark::State& state) {
  const std::unique_ptr<Scratch> scratch = MakeFile(/*in_log=*/true);
  Recover(state, *scratch);
}

// Returns the number of bytes that this process has passed to write(2) and similar calls.
std::uint64_t WrittenBytes() {
  std::ifstream in("/proc/self/io");
  std::string word;
  std::uint64_t value = 0;
  while (in >> word >> value && word != "wchar:") continue;
  return value;
}

// A decision charges a child and its parent, with two limits each; children are drawn by Zipf 1.0
// from 100,000. The argument is the number of decisions in a commit. The counters are bytes for
// each decision: of changes, and written in all, with checkpoints and folds.
void bytes_per_decision(benchmark::State& state) {
  const std::vector<TargetPtr> children = Targets("customer", 100'000);
  const std::vector<TargetPtr> parents = Targets("parent", 1'000);
  const Zipf zipf(children.size(), 1.0);
  Rng rng(1);
  Scratch scratch;
  const auto backend = scratch.Open();
  const std::uint64_t before = WrittenBytes();
  std::vector<Charge> charges = {{nullptr, {1, 1}}, {nullptr, {1, 1}}};
  double decisions = 0;
  for (auto _ : state) {
    for (std::int64_t i = 0; i < state.range(0); ++i, ++decisions) {
      const std::size_t child = zipf.Draw(rng);
      charges[0].target = children[child];
      charges[1].target = parents[child % parents.size()];
      Charged(*backend, charges);
    }
    scratch.scheduler().RunOne();
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(decisions));
  state.counters["changes"] = static_cast<double>(backend->stats().bytes_written) / decisions;
  state.counters["written"] = static_cast<double>(WrittenBytes() - before) / decisions;
}

BENCHMARK(recovery_1m_buckets)->Iterations(1)->Unit(benchmark::kMillisecond);
BENCHMARK(recovery_1m_in_log)->Iterations(1)->Unit(benchmark::kMillisecond);
BENCHMARK(bytes_per_decision)->Arg(1)->Arg(256)->Arg(4096)->Arg(65536);

}  // namespace
}  // namespace weir
