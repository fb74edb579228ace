// Replays a recorded hour on a simulated table, counts its stream by an aggregator, and compares
// the stored usage with sums of the replay's log.
//
//     table_usage TRACE LIMITS
//
// Exits with 1 if a tenant, limit and window differ.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "apps/weir/files.h"
#include "apps/weir/limits/limits_plan.h"
#include "apps/weir/replay/replay.h"
#include "weir/aggregator/aggregator.h"
#include "weir/aggregator/testing/change_fixture.h"
#include "weir/aggregator/testing/held_lease_fixture.h"
#include "weir/base/rng.h"
#include "weir/dynamodb/testing/sim_table.h"
#include "weir/runtime/await.h"
#include "weir/zae_table/dynamo_backend.h"
#include "weir/zae_table/zae_layout.h"

namespace weir::dynamo {
namespace {

constexpr char kTableName[] = "limits";
constexpr std::size_t kBatchRecords = 100;
constexpr std::array kAllWindows = {UsageWindow::kHourly, UsageWindow::kDaily,
                                    UsageWindow::kMonthly};

struct SumKey {
  std::string entity;
  UsageWindow window;
  UnixMillis start;
  std::string limit;  ///< empty: the events of all limits
  friend auto operator<=>(const SumKey&, const SumKey&) = default;
};
using UsageSums = std::map<SumKey, std::int64_t>;

/// A simulated table in the time of a trace.
struct TracedTable {
  explicit TracedTable(UnixMillis start) : time(start), server(time.clock(), /*seed=*/1) {
    CreateTableIn(server, kTableName, ZaeLayout());
  }

  app::TraceScheduler time;
  sim::SimDynamo server;
  DirectClient client{server};
  Rng rng{1};
  Table table{client, time, kTableName, /*seed=*/1, ZaeLayout()};
  DynamoBackend backend{{.client = client,
                         .scheduler = time,
                         .table = kTableName,
                         .namespace_id = "ns",
                         .sources = {.now = [this] { return time.clock().WallNow(); },
                                     .random = [this] { return rng.Next(); }}}};
};

/// Counts the records of the table's stream, batch by batch.
class StreamCounter {
 public:
  explicit StreamCounter(TracedTable& world)
      : world_(world), lease_(HeldLease(now(), std::chrono::hours(24))) {
    options_.windows = {kAllWindows.begin(), kAllWindows.end()};
  }

  /// Counts the records that are there now. Those that this adds itself are counted next time.
  Status CountAll() {
    const std::size_t end = records().size();
    while (counted_ < end)
      WEIR_RETURN_IF_ERROR(CountBatch(std::min(kBatchRecords, end - counted_)));
    return {};
  }
  std::size_t counted() const { return counted_; }
  bool is_behind() const { return counted_ < records().size(); }

 private:
  const std::vector<sim::StreamRecord>& records() const {
    return world_.server.Table(kTableName)->stream();
  }
  Instant now() const { return world_.time.clock().Now(); }
  ProtocolTime moment() const {
    return {.at = now(), .bucket_time = world_.time.clock().WallNow()};
  }

  Status CountBatch(std::size_t count) {
    std::vector<ChangeRecord> batch;
    for (std::size_t i = 0; i < count; ++i) batch.push_back(ToChange(records()[counted_ + i]));
    AggregatorStep step = machine_.Start(
        {.stream_shard = "0", .records = batch, .deadline = Deadline::Never()}, moment());
    std::vector<AggregatorRequest> requests = std::move(step.requests);
    for (std::size_t i = 0; i < requests.size(); ++i) {
      const RequestId id = requests[i].id;
      world_.table.Apply(std::get<Write>(requests[i].body), false, kNever, [&](auto outcome) {
        step = machine_.OnWrite(id, std::move(outcome), moment());
      });
      for (AggregatorRequest& more : step.requests) requests.push_back(std::move(more));
    }
    if (!step.done) return Fail(Code::kInternal, "a batch without an end");
    counted_ += step.done->applied;
    return step.done->error ? Status(Fail(*step.done->error)) : Status();
  }

  TracedTable& world_;
  AggregatorOptions options_;
  AggregatorLease lease_;
  Aggregator machine_{{options_, lease_, NoLog()}, /*seed=*/1};
  std::size_t counted_ = 0;
};

UsageSums SumsOf(std::span<const app::LogLine> log) {
  UsageSums sums;
  for (const app::LogLine& line : log) {
    const bool is_charge =
        line.outcome == app::LogOutcome::kAdmitted || line.outcome == app::LogOutcome::kDone;
    if (!is_charge || line.amount == 0) continue;
    for (const UsageWindow window : kAllWindows) {
      sums[{line.entity, window, StartOf(window, line.at), line.limit}] += line.amount;
      ++sums[{line.entity, window, StartOf(window, line.at), ""}];
    }
  }
  for (auto& [key, sum] : sums) {
    if (!key.limit.empty()) sum /= kMillitokens;
  }
  return sums;
}

Result<UsageSums> ReadStored(Backend& backend) {
  UsageSums sums;
  PageRequest next;
  do {
    WEIR_ASSIGN_OR_RETURN(const auto page, Await<Page<UsageSnapshot>>([&](auto done) {
                            backend.usage().List({.resource = app::kReplayResource}, next, kNever,
                                                 std::move(done));
                          }));
    for (const UsageSnapshot& found : page.items) {
      sums[{found.entity, found.window, found.start, ""}] += found.events;
      for (const auto& [limit, tokens] : found.used) {
        sums[{found.entity, found.window, found.start, limit}] += tokens;
      }
    }
    next.cursor = page.next;
  } while (!next.cursor.empty());
  return sums;
}

std::string Differences(const UsageSums& expected, const UsageSums& found) {
  struct Pair {
    std::int64_t expected = 0;
    std::int64_t found = 0;
  };
  std::map<SumKey, Pair> pairs;
  for (const auto& [key, sum] : expected) pairs[key].expected = sum;
  for (const auto& [key, sum] : found) pairs[key].found = sum;
  std::string text;
  for (const auto& [key, pair] : pairs) {
    if (pair.expected == pair.found) continue;
    text += fmt::format("{} {} {} {}: {} in the log, {} stored\n", key.entity, Name(key.window),
                        key.start.value, key.limit, pair.expected, pair.found);
  }
  return text;
}

Status Compare(const std::string& trace_file, const std::string& limits_file) {
  WEIR_ASSIGN_OR_RETURN(const std::string text, app::ReadFile(trace_file));
  WEIR_ASSIGN_OR_RETURN(const std::vector<app::TraceRow> rows, app::ParseTrace(text, trace_file));
  WEIR_ASSIGN_OR_RETURN(const std::string yaml, app::ReadFile(limits_file));
  WEIR_ASSIGN_OR_RETURN(const LimitsFile limits, ParseLimitsFile(yaml, limits_file));
  TracedTable world(rows.front().at);
  WEIR_RETURN_IF_ERROR(app::ApplyPlan(app::MakePlan(limits, {}, rows.front().at),
                                      world.backend.config(), Deadline::Never()));
  StreamCounter counter(world);
  Status counted;
  const auto progress = [&](std::size_t, std::size_t) {
    if (counted) counted = counter.CountAll();
  };
  WEIR_ASSIGN_OR_RETURN(const app::ReplayReport report,
                        app::RunReplay(app::TraceFromTokenRows(rows, {}),
                                       {world.backend, world.time, world.time.clock(), progress}));
  while (counted && counter.is_behind()) counted = counter.CountAll();
  WEIR_RETURN_IF_ERROR(counted);
  const UsageSums expected = SumsOf(report.log);
  WEIR_ASSIGN_OR_RETURN(const UsageSums found, ReadStored(world.backend));
  const std::string differences = Differences(expected, found);
  if (!differences.empty()) return Fail(Code::kInternal, differences);
  if (expected.size() < 100) return Fail(Code::kInternal, "the trace has too few windows");
  std::puts(fmt::format("{} records of {} decisions: {} sums agree", counter.counted(), rows.size(),
                        expected.size())
                .c_str());
  return {};
}

}  // namespace
}  // namespace weir::dynamo

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: table_usage TRACE LIMITS\n", stderr);
    return 2;
  }
  const weir::Status done = weir::dynamo::Compare(argv[1], argv[2]);
  if (done) return 0;
  std::fprintf(stderr, "table_usage: %s\n", done.error().message.c_str());
  return 1;
}
