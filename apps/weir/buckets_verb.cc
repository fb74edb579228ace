// weir buckets: what is left, and when it is all back.
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>

#include "apps/weir/arguments.h"
#include "apps/weir/json.h"
#include "apps/weir/listing.h"
#include "apps/weir/options.h"
#include "apps/weir/text.h"
#include "weir/bucket/bucket.h"
#include "weir/model/identifier.h"

namespace weir::app {
namespace {

struct BucketsOptions {
  std::string entity;
  std::optional<std::string> resource;
  std::optional<UnixMillis> at;
};

/// One limit of one bucket at an instant. Millitokens.
struct MeterView {
  std::string limit;
  Meter meter;
  UnixMillis full_at;
};

std::vector<MeterView> ViewsAt(const BucketRecord& record, UnixMillis at) {
  Bucket bucket = record.bucket;
  Refill(bucket, at);
  std::vector<MeterView> views;
  for (std::size_t i = 0; i < bucket.meters.size(); ++i) {
    const Meter& meter = bucket.meters[i];
    views.push_back({record.names[i], meter, FullAt({.time = bucket.time, .meters = {meter}})});
  }
  return views;
}

Json ToJson(const MeterView& view) {
  return {{"name", view.limit},
          {"capacity", TokensJson(view.meter.quota.capacity)},
          {"tokens", TokensJson(view.meter.tokens)},
          {"consumed", TokensJson(view.meter.consumed)},
          {"full_at", FormatTime(view.full_at)}};
}

Result<Exit> Show(const BucketsOptions& options, Context& context, Backend& backend) {
  const UnixMillis at = options.at.value_or(backend.buckets().Now());
  const BucketFilter filter{.entity = options.entity, .resource = options.resource};
  WEIR_ASSIGN_OR_RETURN(
      const auto records,
      ListBuckets(backend.buckets(), filter, context.StoreDeadline(), &context.left_out()));
  Json json = {{"entity", options.entity}, {"at", FormatTime(at)}, {"buckets", Json::array()}};
  Table table({"resource", ">shard", "limit", ">capacity", ">tokens", ">consumed", "full at"});
  for (const BucketRecord& record : records) {
    Json& limits = json["buckets"].emplace_back(
        Json{{"resource", record.key.resource}, {"shard", record.key.shard}})["limits"];
    for (const MeterView& view : ViewsAt(record, at)) {
      limits.push_back(ToJson(view));
      table.Row({record.key.resource, fmt::format("{}", record.key.shard), view.limit,
                 FormatTokens(view.meter.quota.capacity), FormatTokens(view.meter.tokens),
                 FormatTokens(view.meter.consumed), FormatTime(view.full_at)});
    }
  }
  context.Answer(json, table.empty() ? "no buckets: all limits are full\n" : table.Text());
  return Exit::kDone;
}

}  // namespace

void AddBuckets(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<BucketsOptions>();
  CLI::App& verb = AddVerb(app, "buckets", "Show what an entity has left", options, chosen,
                           [](const BucketsOptions& given, Context& context) {
                             return context.WithBackend(
                                 Access::kReadBuckets,
                                 [&](Backend& backend) { return Show(given, context, backend); });
                           });
  AddParsed(verb, "ENTITY", options->entity, Checked(CheckEntityId), "whose buckets")
      ->required()
      ->option_text(" ");
  AddParsed(verb, "-r,--resource", options->resource, Checked(CheckResource),
            "of this resource only")
      ->option_text("RESOURCE");
  AddParsed(verb, "--at", options->at, ParseTime,
            "refilled to then instead of now: RFC 3339 or milliseconds since 1970")
      ->option_text("TIME");
}

}  // namespace weir::app
