#include "apps/weir/aggregate/aggregate_run.h"

#include <fmt/format.h>

#include <atomic>

#include "apps/weir/metrics_file.h"
#include "apps/weir/terminal/json.h"
#include "weir/aggregator/daemon/aggregate_metrics.h"
#include "weir/aggregator/replay/shard_replay.h"
#include "weir/base/rng.h"

namespace weir::app {
namespace {

using dynamo::AggregateStats;

constexpr nanoseconds kSignalPollInterval = milliseconds(100);

/// The result of a daemon that has ended.
struct DaemonEnd {
  AggregateStats stats;
  std::string metrics;  ///< as Prometheus reads them
  Status status;
};

Json ToJson(const AggregateStats& stats) {
  return {{"records", stats.records},     {"updates", stats.updates},
          {"conflicts", stats.conflicts}, {"failed_batches", stats.failed_batches},
          {"skipped", stats.skipped},     {"gaps", stats.gaps},
          {"refills", stats.refills},     {"divisions", stats.divisions},
          {"refused", stats.refused},     {"archived", stats.archived}};
}

std::string TextOf(const AggregateStats& stats) {
  return fmt::format(
      "records        {}\nupdates        {}\nskipped        {}\ngaps           {}\n"
      "refills        {}\ndivisions      {}\nrefused items  {}\narchived       {}\n",
      stats.records, stats.updates, stats.skipped, stats.gaps, stats.refills, stats.divisions,
      stats.refused, stats.archived);
}

/// Drains the daemon after a signal, and stops it after a second one.
class SignalWatch {
 public:
  SignalWatch(const ProcessContext& process, dynamo::AggregateDaemon& daemon)
      : process_(process), daemon_(daemon) {}
  void Poll() {
    if (!is_draining_ && process_.interrupted()) {
      is_draining_ = true;
      daemon_.Drain();
    }
    if (!is_draining_ || is_stopping_ || !process_.hurried()) return;
    is_stopping_ = true;
    daemon_.Stop();
  }

 private:
  const ProcessContext& process_;
  dynamo::AggregateDaemon& daemon_;
  bool is_draining_ = false;
  bool is_stopping_ = false;
};

/// Runs until a signal or an error.
Result<DaemonEnd> RunToItsEnd(Context& context, const AggregateOptions& given,
                              const dynamo::DaemonParts& parts,
                              const dynamo::DaemonOptions& options) {
  const ProcessContext& process = context.process();
  Registry registry;
  MetricsFile file(given.metrics_file, registry, process.clock, context.log());
  WEIR_RETURN_IF_ERROR(file.Write());
  std::atomic<bool> has_ended = false;
  DaemonEnd end;
  dynamo::AggregateDaemon daemon(parts, options, SystemSeed(), [&](const Status& status) {
    end.status = status;
    has_ended = true;
  });
  const Status registered = RegisterMetrics(registry, daemon, parts.scheduler.clock());
  file.WriteOrLog();
  SignalWatch signals(process, daemon);
  while (!has_ended) {
    signals.Poll();
    file.WriteIfDue();
    WEIR_RETURN_IF_ERROR(SleepUntil(process.scheduler, process.clock.Now() + kSignalPollInterval));
  }
  WEIR_RETURN_IF_ERROR(registered);
  file.WriteOrLog();  // the end of the daemon is the result
  end.stats = daemon.stats();
  end.metrics = registry.Text();
  return end;
}

Result<Exit> ReportAggregate(const AggregateOptions& options, Context& context,
                             const DaemonEnd& end) {
  const bool is_stopped = !end.status && end.status.error().code == Code::kCancelled;
  if (!end.status && !is_stopped) return Fail(end.status.error());
  Json json = ToJson(end.stats);
  std::string text = TextOf(end.stats);
  if (options.metrics) {
    text += '\n' + end.metrics;
    json["metrics"] = end.metrics;
  }
  context.WriteResult(json, text);
  if (!is_stopped) return Exit::kDone;
  context.Warn(
      "stopped before all positions were stored: the next run reads some records again, and counts "
      "each once");
  return context.Interrupted();
}

}  // namespace

Result<Exit> RunDaemon(const AggregateOptions& given, Context& context,
                       const dynamo::DaemonParts& parts, const dynamo::DaemonOptions& options) {
  WEIR_ASSIGN_OR_RETURN(const DaemonEnd end, RunToItsEnd(context, given, parts, options));
  return ReportAggregate(given, context, end);
}

Result<Exit> RunReplay(const AggregateOptions& given, Context& context,
                       const dynamo::DaemonParts& parts, const dynamo::DaemonOptions& options) {
  const ProcessContext& process = context.process();
  std::atomic<bool> has_ended = false;
  Status status;
  dynamo::ShardReplay replay(parts,
                             {.aggregator = options.aggregator,
                              .lease = options.lease,
                              .stream_arn = options.consumer.stream_arn,
                              .range = given.replay},
                             SystemSeed(), [&](const Status& result) {
                               status = result;
                               has_ended = true;
                             });
  bool is_stopping = false;
  while (!has_ended) {
    if (!is_stopping && process.interrupted()) {
      is_stopping = true;
      replay.Stop();
    }
    WEIR_RETURN_IF_ERROR(SleepUntil(process.scheduler, process.clock.Now() + kSignalPollInterval));
  }
  if (!status && status.error().code != Code::kCancelled) return Fail(status.error());
  context.WriteResult(ToJson(replay.stats()), TextOf(replay.stats()));
  if (status) return Exit::kDone;
  context.Warn(status.error().message);
  return context.Interrupted();
}

}  // namespace weir::app
