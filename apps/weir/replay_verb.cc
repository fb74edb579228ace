// weir replay: a recorded hour of requests, decided again.
#include <fmt/format.h>

#include <memory>
#include <string>

#include "apps/weir/arguments.h"
#include "apps/weir/files.h"
#include "apps/weir/json.h"
#include "apps/weir/limits_plan.h"
#include "apps/weir/options.h"
#include "apps/weir/plot.h"
#include "apps/weir/progress.h"
#include "apps/weir/replay.h"
#include "apps/weir/replay_report.h"

namespace weir::app {
namespace {

struct ReplayVerbOptions {
  std::string trace;
  std::string limits;
  std::string log;
  bool plot = false;
  ReplayOptions replay;
};

/// What the command line names, read.
struct ReplayInput {
  std::vector<TraceRow> rows;
  LimitsFile limits;
};

Result<ReplayInput> ReadInput(const ReplayVerbOptions& options) {
  WEIR_ASSIGN_OR_RETURN(const std::string trace, ReadFile(options.trace));
  WEIR_ASSIGN_OR_RETURN(std::vector<TraceRow> rows, ParseTrace(trace, options.trace));
  WEIR_ASSIGN_OR_RETURN(const std::string limits, ReadFile(options.limits));
  WEIR_ASSIGN_OR_RETURN(LimitsFile file, ParseLimitsFile(limits, options.limits));
  return ReplayInput{std::move(rows), std::move(file)};
}

Status ApplyLimits(const ReplayInput& input, Context& context, Backend& backend) {
  const Deadline deadline = context.StoreDeadline();
  WEIR_ASSIGN_OR_RETURN(const Declared live, ReadDeclared(backend.config(), deadline));
  const Plan plan = MakePlan(input.limits, live, input.rows.front().at);
  return ApplyPlan(plan, backend.config(), deadline);
}

Result<Exit> Replay(const ReplayVerbOptions& options, Context& context, Backend& backend,
                    const ReplayInput& input) {
  WEIR_RETURN_IF_ERROR(ApplyLimits(input, context, backend));
  TraceScheduler time(input.rows.front().at);
  ProgressLine line(context.world());
  const auto progress = [&line](std::size_t done, std::size_t of) {
    line.Show(fmt::format("row {} of {}", done, of));
  };
  const ReplayWorld world{backend, time, context.world().clock, progress};
  WEIR_ASSIGN_OR_RETURN(ReplayReport report, RunReplay(input.rows, world, options.replay));
  if (!options.log.empty()) {
    WEIR_RETURN_IF_ERROR(WriteFile(options.log, FormatLog(report.log)));
  }
  const auto breach = FindBreach(report.log, report.limits);
  const ReplayAnswer answer{std::move(report), breach};
  std::string text;
  if (options.plot && !answer.report.charged.empty()) {
    text = Plot(answer.report.charged, answer.report.outermost_per_minute) + '\n';
  }
  context.Answer(ToJson(answer), text + TextOf(answer));
  if (!breach) return Exit::kDone;
  context.Warn("bound: broken: " + TextOf(*breach));
  return Exit::kFailed;
}

Result<Exit> ReadAndReplay(const ReplayVerbOptions& options, Context& context) {
  WEIR_ASSIGN_OR_RETURN(const ReplayInput input, ReadInput(options));
  const auto work = [&](Backend& backend) { return Replay(options, context, backend, input); };
  // Never the store that people use: a replay sets limits and fills it with another year's buckets.
  return context.WithBackend(Access::kWrite, work, "memory:");
}

Result<Strategy> ParseStrategy(const std::string& text) {
  if (text == "estimate") return Strategy::kEstimate;
  if (text == "actual") return Strategy::kActual;
  return Fail(Code::kInvalidArgument,
              fmt::format("'{}' is not a strategy: estimate or actual", text));
}

Result<std::uint64_t> ParseTenants(const std::string& text) { return ParseWhole(text, 1, 100'000); }
Result<std::uint64_t> ParseSeed(const std::string& text) {
  return ParseWhole(text, 0, std::numeric_limits<std::uint64_t>::max());
}
Result<std::int64_t> ParseEstimate(const std::string& text) {
  WEIR_ASSIGN_OR_RETURN(const std::uint64_t tokens, ParseWhole(text, 0, 1'000'000'000));
  return static_cast<std::int64_t>(tokens);
}

void AddHow(CLI::App& verb, ReplayOptions& options) {
  AddParsed(verb, "--tenants", options.tenants, ParseTenants,
            "tenant-1 to tenant-N, by Zipf's law (default: 20)")
      ->option_text("N");
  AddParsed(verb, "--seed", options.seed, ParseSeed, "of the choice of tenants (default: 1)")
      ->option_text("S");
  AddParsed(verb, "--strategy", options.strategy, ParseStrategy,
            "estimate: take an estimate and adjust it later; actual: take what was used "
            "(default: estimate)")
      ->option_text("NAME");
  AddParsed(verb, "--estimate", options.estimate, ParseEstimate,
            "of the tokens a request will generate (default: 256)")
      ->option_text("TOKENS");
}

}  // namespace

void AddReplay(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<ReplayVerbOptions>();
  CLI::App& verb =
      AddVerb(app, "replay",
              "Decide a recorded trace again by its own clock, in memory: unless a store is named",
              options, chosen, ReadAndReplay);
  verb.add_option("TRACE", options->trace, "CSV: TIMESTAMP,ContextTokens,GeneratedTokens")
      ->required()
      ->option_text(" ");
  verb.add_option("--limits", options->limits, "the limits file, applied to the store first")
      ->required()
      ->option_text("FILE");
  AddHow(verb, options->replay);
  verb.add_flag("--plot", options->plot, "draw the tokens over time");
  verb.add_option("--log", options->log, "write each operation on each limit to this CSV file")
      ->option_text("FILE");
}

}  // namespace weir::app
