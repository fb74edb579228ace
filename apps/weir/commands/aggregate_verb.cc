// weir aggregate: counts the usage of a table from its stream, until it is stopped.
#include <fmt/format.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apps/weir/aggregate/aggregate_run.h"
#include "apps/weir/aggregate/other_aggregator.h"
#include "apps/weir/arguments.h"
#include "apps/weir/commands/table_verbs.h"
#include "apps/weir/lambda/function_verbs.h"
#include "apps/weir/options.h"
#include "weir/aggregator/daemon/s3_archive.h"
#include "weir/aws/s3/s3_connection.h"
#include "weir/dynamodb/streams/lease_table.h"
#include "weir/dynamodb/streams/sequence_number.h"
#include "weir/dynamodb/streams/stream_run.h"
#include "weir/runtime/await.h"
#include "weir/zae_table/version.h"

namespace weir::app {
namespace {

/// Processes of this name share the stream of a table.
constexpr char kOwner[] = "weir aggregate";

/// Returns the endpoint of the table's streams; empty: that of the environment, else of AWS. A
/// local engine serves tables and streams at one endpoint, for which only DynamoDB's variable may
/// be set.
std::string StreamsEndpoint(const dynamo::DynamoUrl& url, const ProcessContext& process) {
  if (!url.endpoint.empty()) return url.endpoint;
  if (process.environment("AWS_ENDPOINT_URL_DYNAMODB_STREAMS")) return "";
  const std::string endpoint = process.environment("AWS_ENDPOINT_URL_DYNAMODB").value_or("");
  return endpoint.contains(".amazonaws.com") ? "" : endpoint;
}

dynamo::DaemonOptions DaemonOptionsOf(const AggregateOptions& options, const std::string& arn,
                                      std::uint64_t random) {
  dynamo::DaemonOptions daemon;
  daemon.aggregator.windows = options.windows;
  daemon.aggregator.retention_days = static_cast<std::int64_t>(options.retention_days);
  daemon.aggregator.refills = !options.no_refill;
  daemon.aggregator.divides = !options.no_divide;
  daemon.lease = {.owner = kOwner, .takes_over = options.take_over};
  daemon.consumer.stream_arn = arn;
  daemon.consumer.owner = fmt::format("{} {:016x}", kOwner, random);
  if (options.from_latest) daemon.consumer.from = dynamo::ShardPosition::At::kLatest;
  daemon.consumer.max_shards = 64;
  return daemon;
}

/// Returns null without --archive.
Result<std::unique_ptr<S3Connection>> OpenArchive(const AggregateOptions& options,
                                                  Context& context) {
  if (!options.archive) return std::unique_ptr<S3Connection>();
  return S3Connection::Open({.bucket = options.archive->bucket,
                             .region = options.archive->region,
                             .endpoint_url = options.archive->endpoint,
                             .log = &context.log()},
                            context.process().clock, HostEnvironmentOf(context.process()));
}

Status CheckReplay(const AggregateOptions& options) {
  WEIR_RETURN_IF_ERROR(dynamo::CheckRange(options.replay));
  if (!options.from_latest && !options.no_refill && !options.no_divide && !options.metrics &&
      options.metrics_file.empty()) {
    return {};
  }
  return Fail(Code::kInvalidArgument,
              "a replay takes --windows, --retention-days, --archive and --take-over, and no other "
              "option of 'weir aggregate'");
}

constexpr std::string_view kOtherCounted =
    "if zae-limiter's function has counted this table, its hours are counted twice; turn it off "
    "and begin with --from-latest";

/// The stream of a table, and the other connections that an aggregator needs.
struct OpenedStream {
  std::string arn;
  std::unique_ptr<ServiceConnection> streams;
  std::unique_ptr<dynamo::LeaseTable> leases;
  std::unique_ptr<S3Connection> bucket;        ///< null without --archive
  std::unique_ptr<dynamo::S3Archive> archive;  ///< null without --archive
};

Result<OpenedStream> OpenStream(const AggregateOptions& options, Context& context,
                                const OpenedTable& opened) {
  const ProcessContext& process = context.process();
  OpenedStream stream;
  WEIR_ASSIGN_OR_RETURN(stream.arn, Await<std::string>([&](auto done) {
                          dynamo::FindStream(opened.table, context.StoreDeadline(),
                                             std::move(done));
                        }));
  WEIR_ASSIGN_OR_RETURN(
      stream.streams,
      dynamo::ConnectToStreams(opened.url.region, StreamsEndpoint(opened.url, process),
                               process.clock, HostEnvironmentOf(process), &context.log()));
  stream.leases = std::make_unique<dynamo::LeaseTable>(opened.table, "_/AGGREGATOR#" + stream.arn);
  WEIR_ASSIGN_OR_RETURN(stream.bucket, OpenArchive(options, context));
  if (!stream.bucket) return stream;
  stream.archive =
      std::make_unique<dynamo::S3Archive>(stream.bucket->bucket(), options.archive->prefix);
  return stream;
}

Result<Exit> Aggregate(const AggregateOptions& options, Context& context,
                       const OpenedTable& opened) {
  WEIR_ASSIGN_OR_RETURN(const dynamo::VersionInfo version,
                        Await<dynamo::VersionInfo>([&](auto done) {
                          dynamo::OpenCheck(opened.table, context.StoreDeadline(), std::move(done));
                        }));
  if (options.replay.shard.empty() && !options.from_latest) {
    WarnOfOtherAggregator(version, kOtherCounted, context.log());
  }
  WEIR_ASSIGN_OR_RETURN(const OpenedStream stream, OpenStream(options, context, opened));
  const dynamo::DaemonParts parts{.streams = stream.streams->client(),
                                  .table = opened.table,
                                  .shard_leases = *stream.leases,
                                  .scheduler = opened.scheduler,
                                  .log = context.log(),
                                  .archive = stream.archive.get()};
  const dynamo::DaemonOptions daemon = DaemonOptionsOf(options, stream.arn, opened.random());
  if (!options.replay.shard.empty()) return RunReplay(options, context, parts, daemon);
  return RunDaemon(options, context, parts, daemon);
}

Result<std::string> ParseSequence(const std::string& text) {
  if (auto number = dynamo::NormalizeSequenceNumber(text)) return *std::move(number);
  return Fail(Code::kInvalidArgument,
              fmt::format("'{}' is not a sequence number, which has 1 to 40 digits", text));
}

using AggregateVerb = std::function<Result<Exit>(const AggregateOptions&, Context&)>;

// Also accepts the options of `aggregate`, except those that CheckReplay refuses.
void AddReplayOf(CLI::App& aggregate, const std::shared_ptr<AggregateOptions>& options,
                 Action& chosen, AggregateVerb run) {
  CLI::App& verb = AddVerb(aggregate, "replay",
                           "Read part of a shard again, and count the changes that are not counted",
                           options, chosen, std::move(run));
  dynamo::ReplayRange& range = options->replay;
  verb.add_option("--shard", range.shard, "the shard of the stream")
      ->required()
      ->option_text("SHARD");
  AddParsed(verb, "--from", range.from, ParseSequence, "the sequence number of the first record")
      ->required()
      ->option_text("NUMBER");
  AddParsed(verb, "--to", range.to, ParseSequence,
            "the sequence number of the last record, which a daemon must have read before")
      ->required()
      ->option_text("NUMBER");
  verb.footer(
      "Drain the daemons ('weir aggregate') before a replay, and start them again after it: usage\n"
      "that they count meanwhile is newer than the records of the replay, which then counts\n"
      "nothing. The options --windows, --retention-days, --archive and --take-over of\n"
      "'weir aggregate' apply too.\n"
      "Exit codes: 0 all records were applied, 1 failed, 2 bad usage, 128 + N ended by signal N.");
}

}  // namespace

void AddAggregate(CLI::App& app, Action& chosen, const WithTable& with_table) {
  auto options = std::make_shared<AggregateOptions>();
  const AggregateVerb run = [with_table](const AggregateOptions& given,
                                         Context& context) -> Result<Exit> {
    if (!given.replay.shard.empty()) {
      const Status is_valid = CheckReplay(given);
      if (!is_valid) context.failure = Exit::kUsage;
      WEIR_RETURN_IF_ERROR(is_valid);
    }
    return with_table(context,
                      [&](const OpenedTable& opened) { return Aggregate(given, context, opened); });
  };
  CLI::App& verb =
      AddVerb(app, "aggregate", "Count the usage of a table from its stream, until it is stopped",
              options, chosen, run);
  AddParsed(verb, "--windows", options->windows, ParseUsageWindows,
            "which windows are counted (default: hourly,daily)")
      ->option_text("hourly,daily,monthly");
  verb.add_option("--retention-days", options->retention_days,
                  "how long usage is kept after the end of its window (default: 90)")
      ->check(CLI::Range(1, 36'500))
      ->option_text("N");
  verb.add_flag("--from-latest", options->from_latest,
                "begin with the records from now on, if the stream was never read (default: with "
                "the oldest)");
  verb.add_flag("--take-over", options->take_over,
                "count even if another aggregator of Weir counts the table, which then stops");
  verb.add_flag("--no-refill", options->no_refill, "do not refill buckets of Python clients");
  AddParsed(verb, "--archive", options->archive, ParseArchiveUrl,
            "store expired audit events there, for 'weir audit list --archive'")
      ->option_text("s3://BUCKET/PREFIX");
  verb.add_flag("--no-divide", options->no_divide, "do not divide busy buckets");
  verb.add_option("--metrics-file", options->metrics_file,
                  "write the metrics to this file every 10 s, as Prometheus reads them")
      ->option_text("FILE");
  verb.add_flag("--metrics", options->metrics, "also print the metrics at the end");
  AddReplayOf(verb, options, chosen, run);
  AddFunctionVerbs(verb, chosen);
  // Set last: the verbs of this verb must not inherit it.
  verb.footer(
      "Exit codes: 0 stopped by one signal, 1 failed, 2 bad usage, 128 + N ended by a second\n"
      "signal N.");
}

}  // namespace weir::app
