// weir system|resource|entity set-limits|get-limits|delete-limits, system list, resource list.
#include "apps/weir/commands/level_verbs.h"

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
#include "apps/weir/terminal/listing.h"
#include "apps/weir/terminal/text.h"
#include "weir/model/identifier.h"

namespace weir::app {
namespace {

struct LevelOptions {
  explicit LevelOptions(Scope given) : scope(given) {}
  Scope scope;
  std::string entity;
  std::string resource{kDefaultResource};
  std::vector<Limit> limits;
  std::optional<OnUnavailable> on_unavailable;
};

Level LevelOf(const LevelOptions& options) {
  if (options.scope == Scope::kSystem) return Level::System();
  if (options.scope == Scope::kResource) return Level::Resource(options.resource);
  if (options.resource == kDefaultResource) return Level::EntityDefault(options.entity);
  return Level::Entity(options.entity, options.resource);
}

Result<std::vector<Limit>> ParseLimitTexts(const std::vector<std::string>& texts) {
  return ParseLimits(fmt::format("{}", fmt::join(texts, ",")));
}

Result<OnUnavailable> ParseOnUnavailable(const std::string& text) {
  if (text == "allow") return OnUnavailable::kAllow;
  if (text == "block") return OnUnavailable::kBlock;
  return Fail(Code::kInvalidArgument, fmt::format("'{}' is not a choice: allow or block", text));
}

std::string TextOf(const LevelRecord& record) {
  std::string text = Describe(record.level) + '\n';
  const std::vector<Limit>& limits = record.limits.limits;
  const bool ahead = std::ranges::any_of(
      limits, [](const Limit& limit) { return limit.allowance != milliseconds(0); });
  std::vector<std::string> headings{"limit", ">capacity", ">refill", ">every"};
  if (ahead) headings.emplace_back(">allowance");
  Table table(headings);
  for (const Limit& limit : limits) {
    std::vector<std::string> row{limit.name, FormatTokens(limit.quota.capacity),
                                 FormatTokens(limit.quota.amount),
                                 FormatSeconds(milliseconds(limit.quota.period))};
    if (ahead) row.push_back(FormatSeconds(limit.allowance));
    table.Row(std::move(row));
  }
  if (!table.empty()) text += table.Text();
  if (record.limits.on_unavailable) {
    text += fmt::format("on unavailable: {}\n", app::NameOf(*record.limits.on_unavailable));
  }
  return text;
}

Result<LevelLimits> NewLimits(const LevelOptions& options, Context& context, Backend& backend) {
  LevelLimits limits{.limits = options.limits, .on_unavailable = options.on_unavailable};
  // If both are given, damaged limits of the system can be replaced.
  const bool is_whole = !limits.limits.empty() && limits.on_unavailable;
  if (options.scope != Scope::kSystem || is_whole) return limits;
  // The limits and the policy of the system level are set separately; the other one is kept.
  const Deadline deadline = context.StoreDeadline();
  WEIR_ASSIGN_OR_RETURN(const auto before, GetLevel(backend.config(), Level::System(), deadline));
  if (before && limits.limits.empty()) limits.limits = before->limits;
  if (before && !limits.on_unavailable) limits.on_unavailable = before->on_unavailable;
  return limits;
}

Result<Exit> Set(const LevelOptions& options, Context& context, Backend& backend) {
  WEIR_ASSIGN_OR_RETURN(LevelLimits limits, NewLimits(options, context, backend));
  const LevelRecord record{LevelOf(options), std::move(limits)};
  WEIR_RETURN_IF_ERROR(ApplyChanges(backend.config(), {PutLimits{record.level, record.limits}},
                                    context.StoreDeadline()));
  context.WriteResult(app::ToJson(record), "set " + TextOf(record));
  return Exit::kDone;
}

Result<Exit> SetWhatIsGiven(const LevelOptions& options, Context& context) {
  if (options.limits.empty() && !options.on_unavailable) {
    context.failure = Exit::kUsage;
    return Fail(Code::kInvalidArgument, "nothing to set: give --limit or --on-unavailable");
  }
  return context.WithBackend(Access::kWrite, [&](Backend& b) { return Set(options, context, b); });
}

Result<Exit> ShowLevel(const LevelOptions& options, Context& context, Backend& backend) {
  const Level level = LevelOf(options);
  WEIR_ASSIGN_OR_RETURN(const auto found,
                        GetLevel(backend.config(), level, context.StoreDeadline()));
  if (!found) {
    return Fail(Code::kNotFound,
                fmt::format("no limits are set at {}: set-limits sets them", Describe(level)));
  }
  const LevelRecord record{level, *found};
  context.WriteResult(app::ToJson(record), TextOf(record));
  return Exit::kDone;
}

Result<Exit> DeleteLevel(const LevelOptions& options, Context& context, Backend& backend) {
  const Level level = LevelOf(options);
  WEIR_RETURN_IF_ERROR(
      ApplyChanges(backend.config(), {DeleteLimits{level}}, context.StoreDeadline()));
  context.WriteResult({{"deleted", Describe(level)}}, "deleted " + Describe(level));
  return Exit::kDone;
}

Result<Exit> List(std::optional<Level::Kind> kind, Context& context, Backend& backend) {
  WEIR_ASSIGN_OR_RETURN(const auto records,
                        ListLevels(backend.config(), {.kind = kind}, context.RequestDeadlines(),
                                   &context.left_out()));
  const bool has_policy = std::ranges::any_of(
      records, [](const LevelRecord& record) { return record.limits.on_unavailable.has_value(); });
  std::vector<std::string> headings{"level", "limits", "set by"};
  if (has_policy) headings.emplace_back("on unavailable");
  Json json = {{"levels", Json::array()}};
  Table table(headings);
  for (const LevelRecord& record : records) {
    json["levels"].push_back(app::ToJson(record));
    std::vector<std::string> row{Describe(record.level), FormatLimits(record.limits.limits),
                                 record.limits.managed ? "file" : "hand"};
    const std::optional<OnUnavailable>& policy = record.limits.on_unavailable;
    if (has_policy) row.emplace_back(policy ? app::NameOf(*policy) : "-");
    table.Row(std::move(row));
  }
  context.WriteResult(json, table.empty() ? "nothing is set\n" : table.Text());
  return Exit::kDone;
}

void AddLevelArguments(CLI::App& verb, LevelOptions& options) {
  if (options.scope == Scope::kResource) {
    AddParsed(verb, "RESOURCE", options.resource, Checked(CheckResource),
              "the resource of the limits")
        ->required()
        ->option_text(" ");
  }
  if (options.scope != Scope::kEntity) return;
  AddParsed(verb, "ENTITY", options.entity, Checked(CheckEntityId), "the entity of the limits")
      ->required()
      ->option_text(" ");
  AddParsed(
      verb, "-r,--resource", options.resource, Checked(CheckResourceOrDefault),
      "the resource of the limits (default: _default_, for resources without limits of their own)")
      ->option_text("RESOURCE");
}

// zae-limiter's command line calls the limits of these levels defaults: `system set-defaults`.
void AddAlias(CLI::App& verb, Scope scope) {
  constexpr std::string_view kLimits = "limits";
  if (scope == Scope::kEntity) return;
  std::string name = verb.get_name();
  verb.alias(name.replace(name.find(kLimits), kLimits.size(), "defaults"));
}

void AddSet(CLI::App& group, Scope scope, Action& chosen) {
  auto options = std::make_shared<LevelOptions>(scope);
  CLI::App& verb = AddVerb(group, "set-limits", "Replace all limits of the level", options, chosen,
                           SetWhatIsGiven);
  AddAlias(verb, scope);
  AddLevelArguments(verb, *options);
  AddParsedList(verb, "-l,--limit", options->limits, ParseLimitTexts,
                "name:rate[/period][:burst][~allowance], like rpm:1000, tpm:10000/min:15000, "
                "x:5/30sec, rps:1000/sec~500ms")
      ->option_text("LIMIT")
      ->required(scope != Scope::kSystem);
  if (scope != Scope::kSystem) return;
  AddParsed(verb, "--on-unavailable", options->on_unavailable, ParseOnUnavailable,
            "the decision while the store is unavailable")
      ->option_text("allow|block");
}

using LevelWork = Result<Exit> (*)(const LevelOptions&, Context&, Backend&);

void AddPlain(CLI::App& group, Scope scope, Action& chosen, const std::string& name) {
  auto options = std::make_shared<LevelOptions>(scope);
  const bool writes = name == "delete-limits";
  const LevelWork work = writes ? DeleteLevel : ShowLevel;
  const Access access = writes ? Access::kWrite : Access::kRead;
  const std::string what =
      writes ? "Delete the limits of the level" : "Show the limits of the level";
  CLI::App& verb = AddVerb(group, name, what, options, chosen,
                           [work, access](const LevelOptions& given, Context& context) {
                             return context.WithBackend(access, [&](Backend& backend) {
                               return work(given, context, backend);
                             });
                           });
  AddAlias(verb, scope);
  AddLevelArguments(verb, *options);
}

void AddList(CLI::App& group, std::optional<Level::Kind> kind, const std::string& description,
             Action& chosen) {
  auto given = std::make_shared<std::optional<Level::Kind>>(kind);
  AddVerb(group, "list", description, given, chosen,
          [](std::optional<Level::Kind> wanted, Context& context) {
            return context.WithBackend(
                Access::kRead, [&](Backend& backend) { return List(wanted, context, backend); });
          });
}

}  // namespace

void AddLevelVerbs(CLI::App& group, Scope scope, Action& chosen) {
  AddSet(group, scope, chosen);
  AddPlain(group, scope, chosen, "get-limits");
  AddPlain(group, scope, chosen, "delete-limits");
}

void AddSystem(CLI::App& app, Action& chosen) {
  CLI::App& group = AddGroup(app, "system", "The limits of all entities that have no others");
  AddLevelVerbs(group, Scope::kSystem, chosen);
  AddList(group, std::nullopt, "List the limits of all levels", chosen);
}

void AddResource(CLI::App& app, Action& chosen) {
  CLI::App& group = AddGroup(app, "resource", "The limits of a resource");
  AddLevelVerbs(group, Scope::kResource, chosen);
  AddResourceCapacity(group, chosen);
  AddList(group, Level::Kind::kResource, "List the resources that have limits", chosen);
}

}  // namespace weir::app
