// weir kinesis cat: prints the records of a stream.
#include <absl/strings/escaping.h>
#include <fmt/format.h>
#include <simdjson.h>

#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>

#include "apps/weir/arguments.h"
#include "apps/weir/commands/kinesis_verbs.h"
#include "apps/weir/options.h"
#include "apps/weir/terminal/json.h"
#include "apps/weir/terminal/text.h"
#include "weir/kinesis/reader/read_stream.h"

namespace weir::app {
namespace {

using kinesis::Position;
using kinesis::StreamRecord;

struct CatOptions {
  StreamOptions stream;
  kinesis::Position from;
  bool follow = false;
  std::optional<kinesis::ShardId> shard;
  std::optional<std::uint64_t> count;
};

kinesis::ConnectionOptions ConnectionOf(const CatOptions& options, const ProcessContext& process) {
  kinesis::ConnectionOptions connection = ConnectionFor(options.stream, {});
  connection.content_type = kinesis::kReadContentType;
  connection.request_timeout = std::chrono::seconds(30);  // a response may have 14 MB
  connection.connect_timeout = std::chrono::seconds(3);
  connection.max_attempts = 3;
  connection.gives_up = process.interrupted;
  return connection;
}

/// Prints records until the requested number is reached.
class Writer {
 public:
  Writer(Context& context, std::optional<std::uint64_t> count)
      : out_(context.process().out), json_(context.common().json), left_(count) {}

  /// Returns false if no more records are needed or the output has failed.
  bool Write(const std::vector<StreamRecord>& records) {
    for (const StreamRecord& record : records) {
      out_ << (json_ ? JsonLineOf(record) : record.data) << '\n';
      if (left_ && --*left_ == 0) break;
    }
    out_ << std::flush;
    return out_.good() && !is_full();
  }
  /// Returns whether the requested number of records has been printed.
  bool is_full() const { return left_ == 0U; }

 private:
  std::ostream& out_;
  const bool json_;
  std::optional<std::uint64_t> left_;
};

kinesis::ReaderOptions ReaderOptionsOf(const CatOptions& options) {
  kinesis::ReaderOptions reader{.from = options.from, .only = options.shard};
  reader.follow = options.follow || options.from.at == Position::At::kLatest;
  if (reader.follow) reader.max_tries = 0;
  return reader;
}

/// Reports that reading fails or works again. Reading is retried until an interrupt.
void ReportFailing(const Error* failure, std::ostream& err) {
  const std::string state =
      failure == nullptr ? "the stream is read again"
                         : fmt::format("the stream cannot be read, retrying: {}", failure->message);
  err << "weir: " << EscapeControls(state) << '\n' << std::flush;
}

Result<Exit> Cat(const CatOptions& options, Context& context, const OpenedKinesis& opened) {
  const kinesis::ReaderOptions how = ReaderOptionsOf(options);
  kinesis::StreamReader reader(options.stream.stream, how, opened.seed);
  Writer writer(context, options.count);
  WEIR_RETURN_IF_ERROR(kinesis::ReadStream(
      reader,
      {.client = opened.client,
       .scheduler = opened.scheduler,
       .take = [&](const std::vector<StreamRecord>& records) { return writer.Write(records); },
       .interrupted = context.process().interrupted,
       .failing =
           [&](const Error* failure) {
             if (how.follow) ReportFailing(failure, context.process().err);
           }}));
  const kinesis::ReaderStats& stats = reader.stats();
  const bool was_cut = !writer.is_full() && context.process().interrupted();
  if (stats.damaged == 0) return was_cut ? context.Interrupted() : Exit::kDone;
  context.Warn(
      fmt::format("{} of {} Kinesis records are damaged and were passed over, the first: {}",
                  stats.damaged, stats.kinesis_records, stats.first_damage->message));
  return was_cut ? context.Interrupted() : Exit::kFailed;
}

/// A number with too many digits for milliseconds since 1970 is a sequence number.
bool IsSequenceNumber(std::string_view text) {
  constexpr std::size_t kMaxOfTime = 15;
  return text.size() > kMaxOfTime && text.size() <= 129 &&
         text.find_first_not_of("0123456789") == std::string_view::npos;
}

Result<Position> ParseFrom(const std::string& text) {
  if (text == "trim_horizon") return Position{};
  if (text == "latest") return Position{.at = Position::At::kLatest};
  if (IsSequenceNumber(text)) return Position{.at = Position::At::kAt, .sequence_number = text};
  const Result<UnixMillis> time = ParseTime(text);
  if (time) return Position{.at = Position::At::kTime, .time = *time};
  return Fail(Code::kInvalidArgument,
              fmt::format("'{}' is not a valid start: write trim_horizon, latest, a time such as "
                          "2023-11-16T18:15:46Z, or a sequence number",
                          text));
}

/// A sequence number is meaningless for other shards.
Status CheckFrom(const CatOptions& options, Context& context) {
  if (options.from.at != Position::At::kAt || options.shard) return {};
  context.failure = Exit::kUsage;
  return Fail(Code::kInvalidArgument,
              "--from: a sequence number belongs to one shard: name it by --shard");
}

Result<std::optional<kinesis::ShardId>> ParseShard(const std::string& text) {
  WEIR_ASSIGN_OR_RETURN(const kinesis::ShardId id, kinesis::ParseShardId(text));
  return std::optional(id);
}

Result<std::uint64_t> ParseRecordCount(const std::string& text) {
  return ParseIntegerInRange(text, 1, 1'000'000'000'000);
}

}  // namespace

std::string JsonLineOf(const StreamRecord& record) {
  Json json = {{"shard", kinesis::FormatShardId(record.shard)},
               {"sequence_number", record.sequence_number},
               {"sub_sequence_number", record.sub_sequence_number},
               {"partition_key", record.partition_key}};
  if (simdjson::validate_utf8(record.data)) {
    json["data"] = record.data;
  } else {
    json["data_base64"] = absl::Base64Escape({record.data.data(), record.data.size()});
  }
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void AddKinesisCat(CLI::App& group, Action& chosen, const WithKinesis& with_kinesis) {
  auto options = std::make_shared<CatOptions>();
  CLI::App& verb =
      AddVerb(group, "cat", "Write the records of a stream, one a line", options, chosen,
              [with_kinesis](const CatOptions& given, Context& context) -> Result<Exit> {
                WEIR_RETURN_IF_ERROR(RefuseStore(context, "cat"));
                WEIR_RETURN_IF_ERROR(CheckFrom(given, context));
                return with_kinesis(
                    context, ConnectionOf(given, context.process()),
                    [&](const OpenedKinesis& opened) { return Cat(given, context, opened); });
              });
  AddStream(verb, options->stream);
  AddParsed(verb, "--from", options->from, ParseFrom,
            "the first record. trim_horizon: the oldest; latest: the next new one, and then "
            "without end; a time: the first that arrived at or after that time; a sequence number: "
            "that record of --shard (default: trim_horizon)")
      ->option_text("trim_horizon|latest|TIME|SEQUENCE");
  AddParsed(verb, "--shard", options->shard, ParseShard, "only read this shard, not its children")
      ->option_text("ID");
  verb.add_flag("--follow", options->follow, "continue with new records, without end");
  AddParsed(verb, "--count", options->count, ParseRecordCount, "end after this number of records")
      ->option_text("N");
  verb.footer("Exit codes: 0 done, 1 failed, 2 bad usage, 128 + N ended by signal N.");
}

}  // namespace weir::app
