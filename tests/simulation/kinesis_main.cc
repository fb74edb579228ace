// Runs producers on a simulated stream under many seeds and checks each run for the properties of
// stream_oracle.h.
//
//     kinesis_simulation SCENARIO FIRST LAST
//
// Exits with 1 if a run violated a property, or if a fault of the scenario never happened.
#include <fmt/format.h>

#include <utility>

#include "tests/simulation/kinesis_stream.h"
#include "tests/simulation/seed_runs.h"
#include "tests/simulation/stream_oracle.h"

namespace weir::simulation {
namespace {

struct Counts {
  sim::NetworkCounts network;
  sim::KinesisCounts stream;
  std::uint64_t requests = 0;  ///< PutRecords
  std::uint64_t stored = 0;
  std::uint64_t failed = 0;
  std::uint64_t doubtful = 0;
};

void Count(const sim::KinesisCounts& run, sim::KinesisCounts& counts) {
  counts.over_limit += run.over_limit;
  counts.throttled += run.throttled;
  counts.failed_before += run.failed_before;
  counts.failed_after += run.failed_after;
  counts.miscounted += run.miscounted;
  counts.refused_lists += run.refused_lists;
  counts.splits += run.splits;
  counts.merges += run.merges;
  counts.errors += run.errors;
}

void Count(StreamRun& run, Counts& counts) {
  Count(run.server().counts(), counts.stream);
  counts.requests += run.server().counts().Requests("PutRecords");
  for (const auto& producer : run.producers()) counts.network += producer->network().counts();
  for (const auto& [name, put] : run.records()) {
    for (const kinesis::RecordResult& result : put.results) {
      ++(result.stored ? counts.stored : counts.failed);
      if (result.maybe_duplicate) ++counts.doubtful;
    }
  }
}

std::vector<std::string> RunOnce(const StreamScenario& scenario, std::uint64_t seed,
                                 Counts& counts) {
  StreamRun run(scenario, seed);
  const bool ended = run.Run();
  Count(run, counts);
  return Violations(run, ended);
}

/// Reports the faults. Returns false if a fault of the scenario never happened.
bool Tell(const StreamScenario& scenario, const Counts& counts) {
  FaultReport report;
  report.Report("refuse", scenario.network.refuse, counts.network.refused);
  report.Report("lose_request", scenario.network.lose_request, counts.network.lost_requests);
  report.Report("lose_answer", scenario.network.lose_response, counts.network.lost_responses);
  report.Report("fail_before", scenario.network.fail_before, counts.network.failed_before);
  report.Report("fail_after", scenario.network.fail_after, counts.network.failed_after);
  report.Report("throttle", scenario.network.throttle, counts.network.throttled);
  report.Report("entry_throttle", scenario.faults.throttle, counts.stream.throttled);
  report.Report("entry_fail_before", scenario.faults.fail_before, counts.stream.failed_before);
  report.Report("entry_fail_after", scenario.faults.fail_after, counts.stream.failed_after);
  report.Report("miscount", scenario.faults.miscount, counts.stream.miscounted);
  report.Report("refuse_list", scenario.faults.refuse_list, counts.stream.refused_lists);
  report.Report("splits", scenario.faults.reshard, counts.stream.splits);
  report.Report("merges", scenario.faults.reshard, counts.stream.merges);
  report.Report("error", scenario.faults.error, counts.stream.errors);
  report.Report("stored", 1, counts.stored);
  for (const auto& [name, count] :
       {std::pair("failed", counts.failed), std::pair("maybe_duplicate", counts.doubtful),
        std::pair("over_limit", counts.stream.over_limit),
        std::pair("requests", counts.requests)}) {
    fmt::print("  {:<18} {}\n", name, count);
  }
  return report.complete();
}

}  // namespace
}  // namespace weir::simulation

int main(int argc, char** argv) {
  using namespace weir::simulation;
  return RunSeeds(ReadArguments(argc, argv),
                  Simulation<StreamScenario, Counts>{
                      .parse = ParseStreamScenario, .run = RunOnce, .tell = Tell});
}
