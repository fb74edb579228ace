// weir bucket reset|top-up: credits that an operator gives to a bucket; the group of bucket show.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/weir/arguments.h"
#include "apps/weir/commands/group/group_verbs.h"
#include "apps/weir/options.h"
#include "apps/weir/terminal/json.h"
#include "apps/weir/terminal/text.h"
#include "weir/base/rng.h"
#include "weir/model/identifier.h"
#include "weir/runtime/await.h"
#include "weir/store/bucket/bucket_credit.h"

namespace weir::app {
namespace {

constexpr char kAllFull[] = "nothing was missing: all limits are full\n";
constexpr char kNotStored[] =
    "no bucket {}/{} is stored: nothing was taken from it, or it has been full since, or it has "
    "another name\n";

Result<Exit> GiveTokens(BucketCredit credit, Context& context, Backend& backend) {
  WEIR_ASSIGN_OR_RETURN(credit.principal, context.Principal());
  const CreditStamp stamp{.at = backend.buckets().Now(), .seed = SystemSeed()};
  WEIR_ASSIGN_OR_RETURN(const auto credited, Await<std::vector<CreditedLimit>>([&](auto done) {
                          Credit(backend, credit, stamp, context.StoreDeadline(), std::move(done));
                        }));
  Json json = {{"entity", credit.entity}, {"resource", credit.resource}, {"limits", Json::array()}};
  Table table({"limit", ">added", ">tokens"});
  bool any = false;
  for (const CreditedLimit& limit : credited) {
    any = any || limit.added > 0;
    json["limits"].push_back({{"name", limit.limit},
                              {"added", TokensJson(limit.added)},
                              {"tokens", TokensJson(limit.tokens)}});
    table.Row({limit.limit, FormatTokens(limit.added), FormatTokens(limit.tokens)});
  }
  // The names of a bucket that is not stored cannot be checked and may be wrong.
  const std::string text = credited.empty()
                               ? fmt::format(kNotStored, credit.entity, credit.resource)
                           : any ? table.Text()
                                 : kAllFull;
  context.WriteResult(json, text);
  return Exit::kDone;
}

Result<std::vector<CreditAmount>> ParseNames(const std::vector<std::string>& texts) {
  std::vector<CreditAmount> names;
  for (const std::string& text : texts) {
    WEIR_RETURN_IF_ERROR(CheckLimitName(text));
    if (std::ranges::find(names, text, &CreditAmount::limit) != names.end()) {
      return Fail(Code::kInvalidArgument,
                  fmt::format("'{}' is named twice: write each limit once", text));
    }
    names.push_back({text, 0});
  }
  return names;
}

Result<std::vector<CreditAmount>> ParseGiven(const std::vector<std::string>& texts) {
  WEIR_ASSIGN_OR_RETURN(const Amounts amounts, ParseAmounts(texts, ParseSignedAmount));
  std::vector<CreditAmount> given;
  for (const auto& [limit, tokens] : amounts) {
    if (tokens <= Tokens()) {
      return Fail(Code::kInvalidArgument, fmt::format("'{}={}' adds nothing: write a number over 0",
                                                      limit, FormatTokens(tokens.milli())));
    }
    given.push_back({limit, tokens.milli()});
  }
  return given;
}

CLI::App& AddCreditVerb(CLI::App& group, const std::string& name, const std::string& description,
                        const std::shared_ptr<BucketCredit>& credit, Action& chosen) {
  CLI::App& verb = AddVerb(
      group, name, description, credit, chosen, [](const BucketCredit& given, Context& context) {
        return context.WithBackend(
            Access::kWrite, [&](Backend& backend) { return GiveTokens(given, context, backend); });
      });
  AddParsed(verb, "ENTITY", credit->entity, Checked(CheckEntityId), "the entity of the bucket")
      ->required()
      ->option_text(" ");
  AddParsed(verb, "RESOURCE", credit->resource, Checked(CheckResource),
            "the resource of the bucket")
      ->required()
      ->option_text(" ");
  return verb;
}

}  // namespace

void AddBucket(CLI::App& app, Action& chosen) {
  CLI::App& group = AddGroup(app, "bucket", "Show or change the tokens of a bucket");
  AddBucketShow(group, chosen);
  auto reset = std::make_shared<BucketCredit>(BucketCredit{.kind = BucketCredit::Kind::kReset});
  CLI::App& fill = AddCreditVerb(group, "reset", "Fill limits of a bucket", reset, chosen);
  AddParsedList(fill, "LIMIT", reset->amounts, ParseNames,
                "the limits to fill, like rpm (default: all limits)")
      ->option_text("...");
  auto top_up = std::make_shared<BucketCredit>(BucketCredit{.kind = BucketCredit::Kind::kTopUp});
  CLI::App& add = AddCreditVerb(group, "top-up", "Add tokens, up to the capacity", top_up, chosen);
  AddParsedList(add, "AMOUNT", top_up->amounts, ParseGiven,
                "the tokens to add to each limit, like rpm=10 tpm=500")
      ->required()
      ->option_text("...");
}

}  // namespace weir::app
