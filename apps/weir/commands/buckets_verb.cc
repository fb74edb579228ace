// weir buckets: the available tokens, and the time at which each limit is full.
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>

#include "apps/weir/arguments.h"
#include "apps/weir/bucket_view.h"
#include "apps/weir/options.h"
#include "apps/weir/terminal/json.h"
#include "apps/weir/terminal/listing.h"
#include "apps/weir/terminal/text.h"
#include "weir/model/identifier.h"

namespace weir::app {
namespace {

struct BucketsOptions {
  std::string entity;
  std::optional<std::string> resource;
  std::optional<UnixMillis> at;
};

Json ToJson(const ShownMeter& shown) {
  Json json = {{"name", shown.limit},
               {"capacity", TokensJson(shown.meter.quota.capacity)},
               {"tokens", TokensJson(shown.meter.tokens)},
               {"consumed", TokensJson(shown.meter.consumed)},
               {"full_at", shown.full_at ? Json(FormatTime(*shown.full_at)) : Json()}};
  if (!shown.configured) json["configured"] = false;
  return json;
}

std::string TextOf(const Table& table) { return table.empty() ? "" : table.Text(); }

Result<Exit> ShowBuckets(const BucketsOptions& options, Context& context, Backend& backend) {
  const UnixMillis at = options.at.value_or(backend.buckets().Now());
  const BucketFilter filter{.entity = options.entity, .resource = options.resource};
  WEIR_ASSIGN_OR_RETURN(
      const auto records,
      ListBuckets(backend.buckets(), filter, context.RequestDeadlines(), &context.left_out()));
  Json json = {{"entity", options.entity}, {"at", FormatTime(at)}, {"buckets", Json::array()}};
  Table table({"resource", ">shard", "limit", ">capacity", ">tokens", ">consumed", "full at"});
  for (const BucketRecord& record : records) {
    Json& limits = json["buckets"].emplace_back(
        Json{{"resource", record.key.resource}, {"shard", record.key.shard}})["limits"];
    limits = Json::array();
    for (const ShownMeter& view : MetersAt(record, at)) {
      limits.push_back(ToJson(view));
      table.Row({record.key.resource, fmt::format("{}", record.key.shard),
                 view.configured ? view.limit : view.limit + " (not configured)",
                 FormatTokens(view.meter.quota.capacity), FormatTokens(view.meter.tokens),
                 FormatTokens(view.meter.consumed),
                 view.full_at ? FormatTime(*view.full_at) : "never"});
    }
  }
  // A bucket that cannot be read may be empty.
  const bool is_complete = context.IsComplete(Context::Records::kBuckets);
  const bool is_none = table.empty() && is_complete;
  context.WriteResult(
      json, is_none ? "no buckets are stored: nothing was taken, or all limits are full again\n"
                    : TextOf(table));
  return is_complete ? Exit::kDone : Exit::kFailed;
}

}  // namespace

void AddBuckets(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<BucketsOptions>();
  CLI::App& verb =
      AddVerb(app, "buckets", "Show the available tokens of an entity", options, chosen,
              [](const BucketsOptions& given, Context& context) {
                return context.WithBackend(Access::kReadBuckets, [&](Backend& backend) {
                  return ShowBuckets(given, context, backend);
                });
              });
  AddParsed(verb, "ENTITY", options->entity, Checked(CheckEntityId), "the entity of the buckets")
      ->required()
      ->option_text(" ");
  AddParsed(verb, "-r,--resource", options->resource, Checked(CheckResource),
            "only show buckets on RESOURCE")
      ->option_text("RESOURCE");
  AddParsed(
      verb, "--at", options->at, ParseTime,
      "show the tokens refilled to TIME instead of now: RFC 3339, YYYY-MM-DD [hh:mm:ss] of UTC, or "
      "milliseconds since 1970")
      ->option_text("TIME");
}

}  // namespace weir::app
