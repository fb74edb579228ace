#include "weir/embedded/embedded_metrics.h"

#include <array>
#include <cstdint>
#include <vector>

#include "weir/store/usage/usage_metrics.h"

namespace weir {
namespace {

struct Row {
  const char* name;
  const char* help;
  std::uint64_t EmbeddedStats::* number;
};

constexpr std::array kCounters = {
    Row{"weir_file_commits_total", "Commits that wrote buckets.", &EmbeddedStats::commits},
    Row{"weir_file_commit_failures_total",
        "Commits, folds and checkpoints that failed; each is tried again.",
        &EmbeddedStats::commit_failures},
    Row{"weir_file_buckets_written_total", "Buckets that commits wrote.",
        &EmbeddedStats::buckets_written},
    Row{"weir_file_bytes_written_total", "Bytes of buckets, as handed to SQLite.",
        &EmbeddedStats::bytes_written},
};

}  // namespace

Status RegisterFileMetrics(Registry& registry, const EmbeddedBackend& backend) {
  for (const Row& row : kCounters) {
    WEIR_RETURN_IF_ERROR(
        registry.AddCounter({.name = row.name, .help = row.help},
                            [&backend, number = row.number] { return backend.stats().*number; }));
  }
  WEIR_RETURN_IF_ERROR(
      RegisterUsageMetrics(registry, [&backend] { return backend.stats().usage; }));
  WEIR_RETURN_IF_ERROR(
      registry.AddGauge({.name = "weir_file_waiting", .help = "Calls that wait for the file."},
                        [&backend] { return static_cast<double>(backend.stats().waiting); }));
  return registry.AddHistograms(
      {.name = "weir_file_commit_seconds", .help = "Time that a commit took.", .labels = {}},
      kNanosAsSeconds, [&backend] {
        return std::vector<Labelled<HistogramSnapshot>>{
            {.labels = {}, .value = backend.CommitTime()}};
      });
}

}  // namespace weir
