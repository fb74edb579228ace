// weir kinesis put: writes lines to a stream.
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <ostream>
#include <string>

#include "apps/weir/arguments.h"
#include "apps/weir/commands/kinesis_verbs.h"
#include "apps/weir/files.h"
#include "apps/weir/kinesis/failed_lines.h"
#include "apps/weir/kinesis/kinesis_put.h"
#include "apps/weir/kinesis/put_upload.h"
#include "apps/weir/options.h"
#include "apps/weir/terminal/json.h"
#include "weir/backends/open.h"
#include "weir/budget/limiter_budget.h"
#include "weir/kinesis/producer.h"
#include "weir/limiter/limiter.h"

namespace weir::app {
namespace {

/// The timeout of a put on a full buffer; after it the run checks whether to stop.
constexpr milliseconds kPutTimeout{200};
/// A line that only waits for the lines before it has not failed. The lines that fit in a
/// producer's memory may need minutes on a stream of one shard.
constexpr std::chrono::minutes kRecordTtl{10};
/// A missing stream, or missing credentials, must be reported sooner than that.
constexpr std::chrono::seconds kHold{10};
constexpr char kRandom[] = "random";

struct PutOptions {
  StreamOptions stream;
  std::string key = kRandom;
  std::string key_regex;
  bool ordered = false;
  std::optional<std::uint64_t> rate_limit;
  std::string properties;
  std::string failed_to;
  bool force = false;
  std::string share;
  bool cloudwatch = false;
};

/// The limiter that this producer shares with others, or null pointers.
struct Shared {
  std::unique_ptr<Backend> store;
  std::unique_ptr<Limiter> limiter;
  std::unique_ptr<LimiterBudget> budget;
};

Result<kinesis::LoadedConfig> ConfigOf(const PutOptions& options) {
  kinesis::LoadedConfig loaded{.config = {.record_ttl = kRecordTtl, .hold_time = kHold},
                               .ignored = {}};
  if (!options.properties.empty()) {
    WEIR_ASSIGN_OR_RETURN(const std::string text, ReadFile(options.properties));
    auto parsed = kinesis::ParseProperties(text, loaded.config);
    if (!parsed) {
      return Fail(parsed.error().code,
                  fmt::format("{}: {}", options.properties, parsed.error().message));
    }
    loaded = *std::move(parsed);
  }
  if (options.rate_limit) {
    loaded.config.rate_limit_percent = static_cast<std::int64_t>(*options.rate_limit);
    // Rates of the properties would take precedence over the percentage.
    loaded.config.shard_records_per_second = 0;
    loaded.config.shard_bytes_per_second = 0;
  }
  loaded.config.ordered |= options.ordered;
  loaded.config.put_timeout = kPutTimeout;
  return loaded;
}

void ReportIgnored(const kinesis::LoadedConfig& loaded, std::ostream& err) {
  if (!loaded.ignored.empty()) {
    err << fmt::format("weir: properties that have no effect here: {}\n",
                       fmt::join(loaded.ignored, ", "));
  }
  if (!loaded.unknown.empty()) {
    err << fmt::format("weir: properties that are not known: {}\n",
                       fmt::join(loaded.unknown, ", "));
  }
}

Result<RecordKeys> KeysOf(const PutOptions& options, std::uint64_t seed) {
  if (!options.key_regex.empty()) return RecordKeys::Matching(options.key_regex);
  if (options.key == kRandom) return RecordKeys::Random(seed);
  return RecordKeys::Field(options.key);
}

/// Returns null if no file was named.
Result<std::unique_ptr<FailedLines>> OpenFailed(const PutOptions& options, Context& context) {
  if (options.failed_to.empty()) return nullptr;
  auto file = FailedLines::Open(
      options.failed_to, {.replace = options.force, .input = context.process().in_descriptor});
  if (!file && file.error().code == Code::kInvalidArgument) context.failure = Exit::kUsage;
  return file;
}

Result<Shared> Share(const PutOptions& options, Context& context) {
  const ProcessContext& process = context.process();
  Shared shared;
  if (options.share.empty()) return shared;
  BackendOptions how;
  how.surroundings = HostEnvironmentOf(process);
  auto store = OpenBackend(options.share, process.clock, how);
  if (!store) {
    if (store.error().code == Code::kInvalidArgument) context.failure = Exit::kUsage;
    return Fail(store.error().code, "--share: " + store.error().message);
  }
  shared.store = *std::move(store);
  shared.limiter = std::make_unique<Limiter>(*shared.store, process.scheduler,
                                             LimiterOptions{.log = &context.log()});
  shared.budget = std::make_unique<LimiterBudget>(*shared.limiter, process.clock, ShardQuotas{});
  return shared;
}

std::string NameOfEndpoint(const StreamOptions& stream) {
  if (!stream.endpoint.empty()) return stream.endpoint;
  return stream.region.empty() ? "Kinesis" : "Kinesis of " + stream.region;
}

Result<Exit> RespondToPut(const PutOptions& options, Context& context, const PutReport& report) {
  const PutOutcome& outcome = report.outcome;
  context.WriteResult(ToJson(report), TextOf(report));
  if (!outcome.unreachable.empty()) {
    context.Warn(GivenUpOf(outcome, options.failed_to));
    return Exit::kFailed;
  }
  const std::string failures = outcome.failed == 0 ? "" : FailuresOf(outcome, options.failed_to);
  if (outcome.interrupted) {
    context.Warn(StopOf(outcome) + (failures.empty() ? "" : "; " + failures));
    return context.Interrupted();
  }
  if (failures.empty()) return Exit::kDone;
  context.Warn(failures);
  return Exit::kFailed;
}

/// The services that a run calls.
struct Services {
  const OpenedKinesis& kinesis;
  const OpenedKinesis* cloudwatch = nullptr;  ///< null: nothing is uploaded
};

Result<Exit> PutFromInput(const PutOptions& options, Context& context,
                          const kinesis::ProducerConfig& config, const Services& services) {
  const OpenedKinesis& opened = services.kinesis;
  WEIR_ASSIGN_OR_RETURN(RecordKeys keys, KeysOf(options, opened.seed));
  WEIR_ASSIGN_OR_RETURN(const Shared shared, Share(options, context));
  WEIR_ASSIGN_OR_RETURN(const std::unique_ptr<FailedLines> failed, OpenFailed(options, context));
  EndpointWatch watch(opened.client, context.process().clock, NameOfEndpoint(options.stream));
  kinesis::Producer producer({watch, opened.scheduler, shared.budget.get(), context.log()}, config,
                             opened.seed);
  const auto uploader = BeginUpload(producer, config, services.cloudwatch, context.log());
  WEIR_ASSIGN_OR_RETURN(kinesis::Producer::Stream* const stream,
                        producer.Open(options.stream.stream));
  const PutPort port{
      .put =
          [&](kinesis::Record record, kinesis::PutDone done) {
            return producer.Put(*stream, std::move(record), std::move(done));
          },
      .flush = [&](Deadline deadline) { return producer.Flush(deadline); },
      .close = [&](Deadline deadline) { static_cast<void>(producer.Close(deadline)); },
      .watch = &watch};
  LineReader lines(context.process().in, static_cast<std::size_t>(config.max_user_record_bytes));
  PutInput input{lines, keys};
  if (failed) input.failed_lines = [&]() -> std::ostream& { return failed->stream(); };
  const Result<PutOutcome> outcome = PutLines(port, input, context.process());
  EndUpload(uploader.get(), context.process());
  if (!outcome) return Fail(outcome.error());
  return RespondToPut(options, context, {*outcome, producer.stats()});
}

Result<Exit> ConnectAndPut(const PutOptions& options, Context& context,
                           const WithKinesis& with_kinesis) {
  WEIR_RETURN_IF_ERROR(RefuseStore(context, "put, which shares shards by --share STORE"));
  WEIR_ASSIGN_OR_RETURN(const kinesis::LoadedConfig loaded, ConfigOf(options));
  ReportIgnored(loaded, context.process().err);
  if (options.cloudwatch) {
    WEIR_RETURN_IF_ERROR(CheckUpload(loaded.config, options.properties, context));
  }
  kinesis::ConnectionOptions connection = ConnectionFor(options.stream, loaded.config);
  connection.content_type = kinesis::ContentType(loaded.config.wire);
  kinesis::ConnectionOptions upload = kinesis::CloudWatchConnectionFor(loaded.config);
  upload.region = connection.region;
  return with_kinesis(context, connection, [&](const OpenedKinesis& opened) -> Result<Exit> {
    if (!options.cloudwatch) return PutFromInput(options, context, loaded.config, {opened});
    return with_kinesis(context, upload, [&](const OpenedKinesis& cloudwatch) {
      return PutFromInput(options, context, loaded.config, {opened, &cloudwatch});
    });
  });
}

Result<std::uint64_t> ParsePercent(const std::string& text) {
  return ParseIntegerInRange(text, 1, 10'000);
}
Result<std::string> ParseExpression(const std::string& text) {
  WEIR_RETURN_IF_ERROR(RecordKeys::Matching(text));
  return text;
}

void AddPutOptions(CLI::App& verb, PutOptions& options) {
  CLI::Option* key =
      verb.add_option("--key", options.key,
                      "partition key: the member FIELD of lines that are JSON objects, or random "
                      "(default: random)")
          ->option_text("FIELD|random");
  AddParsed(
      verb, "--key-regex", options.key_regex, ParseExpression,
      "partition key: what the first group of the POSIX extended regular expression RE matches, "
      "or what RE matches if RE has no group")
      ->option_text("RE")
      ->excludes(key);
  verb.add_flag("--ordered", options.ordered, "keep the order of the lines of each key");
  AddParsed(verb, "--rate-limit", options.rate_limit, ParsePercent,
            "maximum rate, in percent of a shard's limit, 1 to 10000 (default: 100)")
      ->option_text("PCT");
  verb.add_option("--properties", options.properties,
                  "a file of settings in the format of the Kinesis Producer Library")
      ->option_text("FILE");
  verb.add_option("--share", options.share,
                  "share the rate of the shards with all producers that name this store")
      ->option_text("STORE");
  verb.add_flag("--cloudwatch", options.cloudwatch,
                "upload metrics to Amazon CloudWatch, which charges for them");
  verb.add_option("--failed-to", options.failed_to, "write to FILE the lines whose records failed")
      ->option_text("FILE");
  verb.add_flag("--force", options.force, "overwrite the lines in the file of --failed-to");
}

}  // namespace

void AddKinesisPut(CLI::App& group, Action& chosen, const WithKinesis& with_kinesis) {
  auto options = std::make_shared<PutOptions>();
  CLI::App& verb = AddVerb(group, "put", "Put each line of standard input as a record", options,
                           chosen, [with_kinesis](const PutOptions& given, Context& context) {
                             return ConnectAndPut(given, context, with_kinesis);
                           });
  AddStream(verb, options->stream);
  AddPutOptions(verb, *options);
  verb.footer(
      "Exit codes: 0 all lines are stored, 1 a line failed or the service does not respond,\n"
      "2 bad usage, 128 + N ended by signal N.");
}

}  // namespace weir::app
