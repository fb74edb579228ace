// weir replay: runs a recorded trace of requests against limits.
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>

#include "apps/weir/arguments.h"
#include "apps/weir/files.h"
#include "apps/weir/limits/limits_plan.h"
#include "apps/weir/options.h"
#include "apps/weir/replay/plot.h"
#include "apps/weir/replay/replay.h"
#include "apps/weir/replay/replay_report.h"
#include "apps/weir/terminal/json.h"
#include "apps/weir/terminal/progress.h"
#include "weir/runtime/await.h"
#include "weir/store/memory/memory_backend.h"

namespace weir::app {
namespace {

struct ReplayVerbOptions {
  std::string trace;
  std::string limits;
  std::string log;
  bool force = false;  ///< the log may replace a file
  bool plot = false;
  std::optional<TraceColumns> columns;  ///< nothing: the columns of TraceRow
  ReplayOptions replay;
};

/// The content of the files that the command line names.
struct ReplayInput {
  ReplayTrace trace;
  LimitsFile limits;
};

Result<ReplayTrace> ReadTrace(const ReplayVerbOptions& options, const ProcessContext& process) {
  WEIR_ASSIGN_OR_RETURN(const std::string text, ReadFileOrInput(options.trace, process));
  const std::string name = NameOfInput(options.trace);
  if (options.columns) {
    WEIR_ASSIGN_OR_RETURN(const auto requests, ParseRequests(text, name, *options.columns));
    return TraceFromRequests(requests);
  }
  WEIR_ASSIGN_OR_RETURN(const std::vector<TraceRow> rows, ParseTrace(text, name));
  return TraceFromTokenRows(rows, options.replay);
}

Result<ReplayInput> ReadInput(const ReplayVerbOptions& options, const ProcessContext& process) {
  WEIR_ASSIGN_OR_RETURN(ReplayTrace trace, ReadTrace(options, process));
  WEIR_ASSIGN_OR_RETURN(const std::string limits, ReadFile(options.limits));
  WEIR_ASSIGN_OR_RETURN(LimitsFile file, ParseLimitsFile(limits, options.limits));
  return ReplayInput{std::move(trace), std::move(file)};
}

/// Fails if the store is not empty: a replay would change its limits and buckets.
Status CheckEmpty(Context& context, Backend& backend) {
  WEIR_ASSIGN_OR_RETURN(const Declared live,
                        ReadDeclared(backend.config(), context.RequestDeadlines()));
  WEIR_ASSIGN_OR_RETURN(const auto buckets, Await<Page<BucketRecord>>([&](auto done) {
                          backend.buckets().List({}, {.limit = 1}, context.StoreDeadline(),
                                                 std::move(done));
                        }));
  if (live.levels.empty() && live.entities.empty() && buckets.items.empty()) return {};
  return Fail(Code::kFailedPrecondition,
              fmt::format("{} is not empty, and a replay would change its content; omit --store, "
                          "or name a new file",
                          backend.Describe()));
}

Status ApplyLimits(const ReplayInput& input, Context& context, Backend& backend) {
  WEIR_ASSIGN_OR_RETURN(const Declared live,
                        ReadDeclared(backend.config(), context.RequestDeadlines()));
  const Plan plan = MakePlan(input.limits, live, input.trace.requests.front().at);
  return ApplyPlan(plan, backend.config(), context.ApplyDeadline(plan.ToApply().size()));
}

/// Checks that the trace can be replayed with the limits: applies them to a store in memory, so
/// that a replay that cannot begin writes nothing to the real one.
Status CheckInput(const ReplayInput& input, Context& context) {
  TraceScheduler time(input.trace.requests.front().at);
  const auto scratch = MakeMemoryBackend({}, &time.clock());
  WEIR_RETURN_IF_ERROR(ApplyLimits(input, context, *scratch));
  return CheckReplay(input.trace,
                     {*scratch, time, context.process().clock, [](std::size_t, std::size_t) {}});
}

Result<Exit> ReplayOn(const ReplayVerbOptions& options, Context& context, Backend& backend,
                      const ReplayInput& input) {
  WEIR_RETURN_IF_ERROR(CheckEmpty(context, backend));
  WEIR_RETURN_IF_ERROR(ApplyLimits(input, context, backend));
  TraceScheduler time(input.trace.requests.front().at);
  ProgressLine line(context.process());
  const auto progress = [&line](std::size_t done, std::size_t of) {
    line.Show(fmt::format("row {} of {}", done, of));
  };
  const ReplayWorld world{backend, time, context.process().clock, progress, &context.log()};
  WEIR_ASSIGN_OR_RETURN(ReplayReport report, RunReplay(input.trace, world));
  if (!options.log.empty()) {
    WEIR_RETURN_IF_ERROR(WriteFile(options.log, FormatLog(report.log)));
  }
  const auto violation = FindViolation(report.log, report.limits);
  const ReplayResult result{std::move(report), violation};
  std::string text;
  if (options.plot && !result.report.charged.empty()) {
    text = Plot(result.report.charged, result.report.root_refill_per_minute) + '\n';
  }
  context.WriteResult(ToJson(result), text + TextOf(result));
  if (!violation) return Exit::kDone;
  context.Warn("the replay charged more than a limit allows: " + TextOf(*violation));
  return Exit::kFailed;
}

/// Fails if the log would replace a file that the replay reads or, without --force, another file.
Status CheckLog(const ReplayVerbOptions& options, Context& context) {
  if (options.log.empty()) return {};
  const bool is_trace = IsInputFile(options.log, options.trace, context.process());
  if (is_trace || IsSameFile(options.log, options.limits)) {
    context.failure = Exit::kUsage;
    return Fail(
        Code::kInvalidArgument,
        fmt::format("--log: {} is a file that the replay reads; name another file", options.log));
  }
  return options.force ? Status() : CheckNew(options.log);
}

Result<Exit> ReadAndReplay(const ReplayVerbOptions& options, Context& context) {
  WEIR_RETURN_IF_ERROR(CheckLog(options, context));
  WEIR_ASSIGN_OR_RETURN(const ReplayInput input, ReadInput(options, context.process()));
  WEIR_RETURN_IF_ERROR(CheckInput(input, context));
  const auto work = [&](Backend& backend) { return ReplayOn(options, context, backend, input); };
  return context.WithScratch(work);
}

Result<Strategy> ParseStrategy(const std::string& text) {
  if (text == "estimate") return Strategy::kEstimate;
  if (text == "actual") return Strategy::kActual;
  return Fail(Code::kInvalidArgument,
              fmt::format("'{}' is not a strategy: estimate or actual", text));
}

Result<std::uint64_t> ParseTenants(const std::string& text) {
  return ParseIntegerInRange(text, 1, 100'000);
}
Result<std::int64_t> ParseEstimate(const std::string& text) {
  WEIR_ASSIGN_OR_RETURN(const std::uint64_t tokens, ParseIntegerInRange(text, 0, 1'000'000'000));
  return static_cast<std::int64_t>(tokens);
}

void AddReplayOptions(CLI::App& verb, ReplayOptions& options) {
  AddParsed(
      verb, "--tenants", options.tenants, ParseTenants,
      "number of tenants, to which the requests are assigned by a Zipf distribution (default: "
      "20)")
      ->option_text("N");
  AddParsed(verb, "--seed", options.seed, ParseSeed,
            "seed of the random assignment of requests to tenants (default: 1)")
      ->option_text("S");
  AddParsed(
      verb, "--strategy", options.strategy, ParseStrategy,
      "estimate: take an estimated number of tokens and adjust it to the actual number later; "
      "actual: take the actual number at once (default: estimate)")
      ->option_text("NAME");
  AddParsed(verb, "--estimate", options.estimate, ParseEstimate,
            "estimated number of generated tokens of each request (default: 256)")
      ->option_text("TOKENS");
}

}  // namespace

void AddReplay(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<ReplayVerbOptions>();
  CLI::App& verb = AddVerb(app, "replay",
                           "Run the requests of a recorded trace against limits, at the times of "
                           "the trace, in memory or in the new file that --store names",
                           options, chosen, ReadAndReplay);
  verb.add_option("TRACE", options->trace,
                  "a CSV file with the columns TIMESTAMP,ContextTokens,GeneratedTokens or those "
                  "of --columns; - for standard input")
      ->required()
      ->option_text(" ");
  verb.add_option("-f,--limits-file,--limits", options->limits,
                  "the limits file, which is applied to the store before the first request")
      ->required()
      ->option_text("FILE");
  AddParsed(verb, "--columns", options->columns, ParseTraceColumns,
            "the columns of TRACE: time=COLUMN,entity=COLUMN,resource=COLUMN,LIMIT=COLUMN|NUMBER,"
            "...; each row is a request that takes from each LIMIT the amount in COLUMN, or NUMBER "
            "(default of time, entity and resource: the column of that name)")
      ->option_text("NAME=COLUMN,...");
  AddReplayOptions(verb, options->replay);
  verb.add_flag("--plot", options->plot, "also draw the charged tokens per minute over time");
  verb.add_option("--log", options->log, "write each operation on each limit to this CSV file")
      ->option_text("FILE");
  verb.add_flag("--force", options->force, "overwrite the file of --log");
}

}  // namespace weir::app
