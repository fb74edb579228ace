// weir load: measures the decisions per second of a store.
#include <fmt/format.h>

#include <charconv>
#include <memory>

#include "apps/weir/arguments.h"
#include "apps/weir/load/load_generator.h"
#include "apps/weir/options.h"
#include "apps/weir/terminal/json.h"
#include "apps/weir/terminal/text.h"
#include "weir/limiter/limiter_metrics.h"
#include "weir/model/identifier.h"
#include "weir/telemetry/registry.h"

namespace weir::app {
namespace {

double PerSecond(const LoadReport& report) {
  const auto decisions = static_cast<double>(report.admitted + report.refused);
  const double seconds = static_cast<double>(report.elapsed.count()) / 1e9;
  return seconds > 0 ? decisions / seconds : 0;
}

std::int64_t WholePerSecond(const LoadReport& report) {
  return static_cast<std::int64_t>(PerSecond(report));
}

std::string FormatWhole(nanoseconds time) {
  return FormatSeconds(std::chrono::duration_cast<milliseconds>(time));
}

/// The ratio of nanoseconds to microseconds is that of millitokens to tokens.
Json MicrosJson(std::int64_t nanos) { return TokensJson(nanos); }
std::string MicrosText(std::int64_t nanos) { return FormatTokens(nanos); }

Json MillitokensJson(std::uint64_t sum) { return TokensJson(static_cast<std::int64_t>(sum)); }
std::string MillitokensText(std::uint64_t sum) {
  return FormatTokens(static_cast<std::int64_t>(sum));
}

Result<double> ParseExponent(std::string_view text) {
  double exponent = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), exponent);
  const bool whole = problem == std::errc() && end == text.data() + text.size();
  if (whole && exponent >= 0 && exponent <= 10) return exponent;
  return Fail(Code::kInvalidArgument,
              fmt::format("'{}' is not an exponent: a number from 0 to 10", text));
}

Result<std::optional<double>> ParseDistribution(const std::string& text) {
  if (text == "uniform") return std::optional<double>();
  if (text == "zipf") return std::optional<double>(1.0);
  if (text.starts_with("zipf:")) {
    WEIR_ASSIGN_OR_RETURN(const double exponent, ParseExponent(text.substr(5)));
    return std::optional<double>(exponent);
  }
  return Fail(Code::kInvalidArgument,
              fmt::format("'{}' is not a distribution: uniform, zipf or zipf:EXPONENT", text));
}

Result<std::int64_t> ParseRate(const std::string& text) {
  const Result<std::int64_t> rate = ParseTokens(text);
  if (rate && *rate > 0) return *rate;
  return Fail(Code::kInvalidArgument,
              fmt::format("'{}' is not a rate: write decisions per second, more than 0", text));
}

Result<Exit> MeasureLoad(const LoadOptions& options, Context& context, Backend& backend) {
  const ProcessContext& process = context.process();
  Limiter limiter(backend, process.scheduler, {.log = &context.log()});
  Registry registry;
  if (options.metrics) {
    WEIR_RETURN_IF_ERROR(RegisterMetrics(registry, limiter));
    WEIR_RETURN_IF_ERROR(backend.RegisterMetrics(registry));
  }
  WEIR_ASSIGN_OR_RETURN(LoadReport report, RunLoad(limiter, options, process));
  if (const auto* file = dynamic_cast<EmbeddedBackend*>(&backend)) report.file = file->stats();
  Json json = ToJson(report);
  std::string text = TextOf(report);
  if (options.metrics) {
    std::string metrics = registry.Text();
    text += '\n' + metrics;
    json["metrics"] = std::move(metrics);
  }
  context.WriteResult(json, text);
  context.print_output_if_close_fails = true;
  std::string warning;
  if (report.interrupted) {
    warning = fmt::format("interrupted after {} of {}", FormatWhole(report.elapsed),
                          FormatWhole(options.duration));
  }
  if (report.first_error) {
    warning +=
        fmt::format("{}{} of {} decisions failed, the first with: {}", warning.empty() ? "" : "; ",
                    report.errors, report.latency.count(), report.first_error->message);
  }
  context.Warn(warning);
  if (report.interrupted) return context.Interrupted();
  return report.first_error ? Exit::kFailed : Exit::kDone;
}

Result<std::uint64_t> ParseWorkers(const std::string& text) {
  return ParseIntegerInRange(text, 1, 1024);
}

/// Parses the AMOUNTs. In `--adjust rpm=-1 tpm=-1` the second word is one of them.
Result<Amounts> ParseAmountsOfLoad(const std::vector<std::string>& texts, bool has_adjust) {
  Result<Amounts> amounts = ParseAmounts(texts, ParseAmount);
  if (amounts || !has_adjust) return amounts;
  return Fail(amounts.error().code,
              amounts.error().message + "; each adjustment needs an --adjust of its own");
}

void AddRequestOptions(CLI::App& verb, LoadOptions& options) {
  AddParsed(verb, "ENTITY", options.entities, EntityNames::Parse,
            "the requesting entities: a name, a list a,b, a pattern user-{1..1000}")
      ->required()
      ->option_text(" ");
  AddParsed(verb, "RESOURCE", options.resource, Checked(CheckResource), "the requested resource")
      ->required()
      ->option_text(" ");
  const CLI::Option* adjust =
      AddParsedList(
          verb, "--adjust", options.adjust,
          [](const auto& texts) { return ParseAmounts(texts, ParseSignedAmount); },
          "the adjustment after each admitted request, like tpm=-20")
          ->option_text("AMOUNT");
  AddParsedList(
      verb, "AMOUNT", options.amounts,
      [adjust](const auto& texts) { return ParseAmountsOfLoad(texts, adjust->count() > 0); },
      "the tokens that each request takes of a limit, like rpm=1")
      ->required()
      ->option_text("...");
  AddParsed(verb, "--limits", options.limits, ParseLimits,
            "use these limits instead of the configured limits")
      ->option_text("SPEC");
}

void AddRunOptions(CLI::App& verb, LoadOptions& options) {
  AddParsed(verb, "--workers", options.workers, ParseWorkers, "number of threads (default: 1)")
      ->option_text("N");
  AddParsed(verb, "--duration", options.duration, ParseDuration,
            "duration of the load (default: 10s)")
      ->option_text("DURATION");
  AddParsed(verb, "--rate", options.rate, ParseRate,
            "maximum number of decisions per second (default: unlimited)")
      ->option_text("R");
  AddParsed(verb, "--distribution", options.zipf, ParseDistribution,
            "how the requests are spread over the entities: uniform, zipf or zipf:EXPONENT "
            "(default: uniform)")
      ->option_text("NAME");
  AddParsed(verb, "--seed", options.seed, ParseSeed,
            "seed of the random choice of entities (default: 1)")
      ->option_text("S");
  verb.add_flag("--metrics", options.metrics,
                "also print the metrics of the limiter and the store, as Prometheus reads them");
  verb.add_option("--acknowledged", options.acknowledged,
                  "append a line to FILE after each acknowledged take or adjustment")
      ->option_text("FILE");
}

}  // namespace

Json ToJson(const LoadReport& report) {
  Json json = {{"admitted", report.admitted},
               {"refused", report.refused},
               {"errors", report.errors},
               {"interrupted", report.interrupted},
               {"seconds", TokensJson(report.elapsed.count() / 1'000'000)},
               {"decisions_per_s", WholePerSecond(report)},
               {"p50_us", MicrosJson(report.latency.Quantile(0.5))},
               {"p99_us", MicrosJson(report.latency.Quantile(0.99))},
               {"p999_us", MicrosJson(report.latency.Quantile(0.999))},
               {"store_requests",
                {{"acquire", report.limiter.store_acquires},
                 {"adjust", report.limiter.store_adjusts},
                 {"config_read", report.limiter.store_config_reads}}}};
  if (const AllowanceStats& stats = report.limiter.allowances; stats.decisions > 0) {
    json["allowances"] = {{"decisions", stats.decisions},
                          {"debits", stats.debits},
                          {"refused", stats.refused},
                          {"returns", stats.returns},
                          {"spent", MillitokensJson(stats.spent)},
                          {"returned", MillitokensJson(stats.returned)},
                          {"forfeited", MillitokensJson(stats.forfeited)},
                          {"out", MillitokensJson(stats.out)}};
  }
  if (report.unprotected > 0) json["unprotected"] = report.unprotected;
  if (report.file) {
    json["file"] = {{"commits", report.file->commits},
                    {"longest_gap_ms", MillisJson(report.file->longest_gap)}};
  }
  return json;
}

namespace {

std::string UnprotectedText(const LoadReport& report) {
  if (report.unprotected == 0) return "";
  return fmt::format(" ({} of them without a charge)", report.unprotected);
}

}  // namespace

std::string TextOf(const LoadReport& report) {
  const LimiterStats& stats = report.limiter;
  std::string text = fmt::format(
      "decisions       {}: admitted {}{}, refused {}, errors {}\n"
      "rate            {} decisions/s for {}\n"
      "latency         p50 {} us, p99 {} us, p99.9 {} us\n"
      "store requests  acquire {}, adjust {}, config read {}\n",
      report.admitted + report.refused, report.admitted, UnprotectedText(report), report.refused,
      report.errors, WholePerSecond(report), FormatWhole(report.elapsed),
      MicrosText(report.latency.Quantile(0.5)), MicrosText(report.latency.Quantile(0.99)),
      MicrosText(report.latency.Quantile(0.999)), stats.store_acquires, stats.store_adjusts,
      stats.store_config_reads);
  if (const AllowanceStats& own = stats.allowances; own.decisions > 0) {
    text += fmt::format(
        "allowances      decisions {}, debits {} ({} refused), returns {}; tokens spent {}, "
        "returned {}, forfeited {}, out {}\n",
        own.decisions, own.debits, own.refused, own.returns, MillitokensText(own.spent),
        MillitokensText(own.returned), MillitokensText(own.forfeited), MillitokensText(own.out));
  }
  if (report.file) {
    text += fmt::format("file            commits {}, longest gap {} ms\n", report.file->commits,
                        FormatMillis(report.file->longest_gap));
  }
  return text;
}

void AddLoad(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<LoadOptions>();
  CLI::App& verb = AddVerb(app, "load", "Request decisions from many threads and report the rate",
                           options, chosen, [](const LoadOptions& given, Context& context) {
                             context.is_audited = false;
                             return context.WithBackend(Access::kWrite, [&](Backend& backend) {
                               return MeasureLoad(given, context, backend);
                             });
                           });
  AddRequestOptions(verb, *options);
  AddRunOptions(verb, *options);
  verb.footer("Exit codes: 0 done, 1 failed, 2 bad usage, 128 + N ended by signal N.");
}

}  // namespace weir::app
