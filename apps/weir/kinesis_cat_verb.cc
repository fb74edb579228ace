// weir kinesis cat: a stream's records, read back.
#include <absl/strings/escaping.h>
#include <fmt/format.h>
#include <simdjson.h>

#include <memory>
#include <optional>
#include <ostream>
#include <string>

#include "apps/weir/arguments.h"
#include "apps/weir/json.h"
#include "apps/weir/kinesis_verbs.h"
#include "apps/weir/options.h"
#include "weir/kinesis/read_stream.h"

namespace weir::app {
namespace {

using kinesis::StreamRecord;

struct CatOptions {
  StreamOptions stream;
  bool from_latest = false;
  std::optional<std::uint64_t> count;
};

kinesis::ConnectionOptions ConnectionOf(const CatOptions& options) {
  kinesis::ConnectionOptions connection = ConnectionFor(options.stream, {});
  connection.content_type = kinesis::kReadContentType;
  connection.request_timeout = std::chrono::seconds(30);  // an answer may have 14 MB
  connection.max_attempts = 3;
  return connection;
}

/// Writes records down until there are enough.
class Writer {
 public:
  Writer(Context& context, std::optional<std::uint64_t> count)
      : out_(context.world().out), json_(context.common().json), left_(count) {}

  /// True: go on.
  bool Write(const std::vector<StreamRecord>& records) {
    for (const StreamRecord& record : records) {
      out_ << (json_ ? JsonLineOf(record) : record.data) << '\n';
      if (left_ && --*left_ == 0) break;
    }
    out_ << std::flush;
    return out_.good() && !is_full();
  }
  /// It wrote as many as were asked for.
  bool is_full() const { return left_ == 0U; }

 private:
  std::ostream& out_;
  const bool json_;
  std::optional<std::uint64_t> left_;
};

Result<Exit> Cat(const CatOptions& options, Context& context, const OpenedKinesis& opened) {
  kinesis::StreamReader reader(options.stream.stream, {.from_latest = options.from_latest},
                               opened.seed);
  Writer writer(context, options.count);
  WEIR_RETURN_IF_ERROR(kinesis::ReadStream(
      reader,
      {.client = opened.client,
       .scheduler = opened.scheduler,
       .take = [&](const std::vector<StreamRecord>& records) { return writer.Write(records); },
       .interrupted = context.world().interrupted}));
  const kinesis::ReaderStats& stats = reader.stats();
  const bool was_cut = !writer.is_full() && context.world().interrupted();
  if (stats.damaged == 0) return was_cut ? context.Interrupted() : Exit::kDone;
  context.Warn(
      fmt::format("{} of {} Kinesis records are damaged and were passed over, the first: {}",
                  stats.damaged, stats.kinesis_records, stats.first_damage->message));
  return was_cut ? context.Interrupted() : Exit::kFailed;
}

Result<bool> ParseFrom(const std::string& text) {
  if (text == "trim_horizon") return false;
  if (text == "latest") return true;
  return Fail(Code::kInvalidArgument,
              fmt::format("'{}' is no beginning: trim_horizon or latest", text));
}

Result<std::uint64_t> ParseCount(const std::string& text) {
  return ParseWhole(text, 1, 1'000'000'000'000);
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
                return with_kinesis(context, ConnectionOf(given), [&](const OpenedKinesis& opened) {
                  return Cat(given, context, opened);
                });
              });
  AddStream(verb, options->stream);
  AddParsed(verb, "--from", options->from_latest, ParseFrom,
            "trim_horizon: all that is kept; latest: what comes from now on, without end "
            "(default: trim_horizon)")
      ->option_text("trim_horizon|latest");
  AddParsed(verb, "--count", options->count, ParseCount, "end after so many records")
      ->option_text("N");
}

}  // namespace weir::app
