// weir bucket show: the limits of a pair, their levels and balances, without taking tokens.
#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "apps/weir/arguments.h"
#include "apps/weir/commands/group/group_verbs.h"
#include "apps/weir/options.h"
#include "apps/weir/terminal/json.h"
#include "apps/weir/terminal/text.h"
#include "weir/limiter/limiter.h"
#include "weir/model/identifier.h"

namespace weir::app {
namespace {

struct BucketShowOptions {
  std::string entity;
  std::string resource;
  Amounts amounts;
};

Json PeekJson(const Peeked& peeked) {
  Json json = app::ToJson(peeked.decision);
  for (std::size_t i = 0; i < peeked.levels.size(); ++i) {
    json["limits"][i]["level"] = app::NameOf(peeked.levels[i]);
  }
  return json;
}

Table LimitsTable(const Peeked& peeked) {
  Table table({"entity", "limit", "level", ">capacity", ">available"});
  for (std::size_t i = 0; i < peeked.levels.size(); ++i) {
    const LimitStatus& limit = peeked.decision.limits[i];
    table.Row({limit.entity, limit.limit, std::string(app::NameOf(peeked.levels[i])),
               FormatTokens(limit.capacity), FormatTokens(limit.available)});
  }
  return table;
}

Table AmountsTable(const Peeked& peeked) {
  Table table(
      {"entity", "limit", "level", ">capacity", ">available", ">requested", ">available in"});
  for (std::size_t i = 0; i < peeked.levels.size(); ++i) {
    const LimitStatus& limit = peeked.decision.limits[i];
    table.Row({limit.entity, limit.limit, std::string(app::NameOf(peeked.levels[i])),
               FormatTokens(limit.capacity), FormatTokens(limit.available),
               FormatTokens(limit.requested), limit.exceeded ? FormatWait(limit.retry_after) : ""});
  }
  return table;
}

std::string AvailabilityOf(const Decision& decision) {
  if (decision.admitted) return "available now\n";
  if (decision.retry_after == kNeverAdmitted) return "never available: a limit of 0 blocks\n";
  return fmt::format("available in {}\n", FormatSeconds(decision.retry_after));
}

Result<Exit> ShowPair(const BucketShowOptions& options, Context& context, Backend& backend) {
  Limiter limiter(backend, context.process().scheduler, {.log = &context.log()});
  const PeekRequest request{
      .entity = options.entity, .resource = options.resource, .amounts = options.amounts};
  WEIR_ASSIGN_OR_RETURN(const Peeked peeked, limiter.Peek(request, context.StoreDeadline()));
  if (options.amounts.empty()) {
    context.WriteResult(PeekJson(peeked), LimitsTable(peeked).Text());
    return Exit::kDone;
  }
  context.WriteResult(PeekJson(peeked),
                      AvailabilityOf(peeked.decision) + AmountsTable(peeked).Text());
  return peeked.decision.admitted ? Exit::kDone : Exit::kRefused;
}

}  // namespace

void AddBucketShow(CLI::App& group, Action& chosen) {
  auto options = std::make_shared<BucketShowOptions>();
  CLI::App& verb = AddVerb(
      group, "show", "Show limits and tokens, and when amounts are available; takes nothing",
      options, chosen, [](const BucketShowOptions& given, Context& context) {
        return context.WithBackend(Access::kReadBuckets, [&](Backend& backend) {
          return ShowPair(given, context, backend);
        });
      });
  AddParsed(verb, "ENTITY", options->entity, Checked(CheckEntityId), "the entity of the bucket")
      ->required()
      ->option_text(" ");
  AddParsed(verb, "RESOURCE", options->resource, Checked(CheckResource),
            "the resource of the bucket")
      ->required()
      ->option_text(" ");
  AddParsedList(
      verb, "AMOUNT", options->amounts,
      [](const auto& texts) { return ParseAmounts(texts, ParseAmount); },
      "the tokens that must be available in each limit, like rpm=1 tpm=500; the exit code is 3 "
      "if they are not")
      ->option_text("...");
}

}  // namespace weir::app
