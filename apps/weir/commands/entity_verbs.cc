// weir entity create|show|delete|children|list, and the limits of an entity.
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/weir/arguments.h"
#include "apps/weir/commands/level_verbs.h"
#include "apps/weir/entity_view.h"
#include "apps/weir/options.h"
#include "apps/weir/terminal/json.h"
#include "apps/weir/terminal/listing.h"
#include "apps/weir/terminal/text.h"
#include "weir/model/identifier.h"

namespace weir::app {
namespace {

using Metadata = std::map<std::string, std::string>;

struct EntityOptions {
  std::string id;
  std::string name;
  std::optional<std::string> parent;
  bool cascade = false;
  Metadata metadata;
};

Result<Metadata> ParseMetadataTexts(const std::vector<std::string>& texts) {
  Metadata metadata;
  for (const std::string& text : texts) {
    WEIR_ASSIGN_OR_RETURN(auto pair, ParseMetadata(text));
    if (!metadata.insert(pair).second) {
      return Fail(Code::kInvalidArgument,
                  fmt::format("'{}' is given twice: give each key once", pair.first));
    }
  }
  return metadata;
}

/// A request of the entity charges it and each parent up to one that does not cascade. Refuses a
/// chain that is too long for any request.
Status CheckCascade(const EntityOptions& options, Context& context, ConfigStore& store) {
  std::optional<std::string> above = options.cascade ? options.parent : std::nullopt;
  std::string chain = options.id;
  for (std::size_t charged = 1; above; ++charged) {
    chain += " -> " + *above;
    if (charged == kMaxCascade) {
      return Fail(Code::kFailedPrecondition,
                  fmt::format("entity {}: its requests would charge more than {} entities: {}; "
                              "leave --cascade away, or name a parent further up",
                              options.id, kMaxCascade, chain));
    }
    WEIR_ASSIGN_OR_RETURN(const auto record, GetEntity(store, *above, context.StoreDeadline()));
    above = record && record->entity.cascade ? record->entity.parent : std::nullopt;
  }
  return {};
}

Result<Exit> CreateNewEntity(const EntityOptions& options, Context& context, Backend& backend) {
  WEIR_RETURN_IF_ERROR(CheckCascade(options, context, backend.config()));
  EntityRecord record;
  record.entity = {.id = options.id,
                   .name = options.name.empty() ? options.id : options.name,
                   .parent = options.parent,
                   .cascade = options.cascade,
                   .metadata = options.metadata,
                   .created_at = context.process().clock.WallNow()};
  WEIR_RETURN_IF_ERROR(
      ApplyChanges(backend.config(), {CreateEntity{record}}, context.StoreDeadline()));
  const EntityView view{options.id, record, {}};
  context.Answer(app::ToJson(record), "created\n" + TextOf(view));
  return Exit::kDone;
}

Result<Exit> ShowEntity(const EntityOptions& options, Context& context, Backend& backend) {
  EntityView view{.id = options.id, .record = {}, .levels = {}};
  WEIR_ASSIGN_OR_RETURN(view.record,
                        GetEntity(backend.config(), options.id, context.StoreDeadline()));
  WEIR_ASSIGN_OR_RETURN(view.levels,
                        ListLevels(backend.config(), {.kind = {}, .entity = options.id},
                                   context.EachRequest(), &context.left_out()));
  if (!view.record && view.levels.empty()) {
    if (!context.IsWhole(Context::Records::kConfig)) {
      return Fail(Code::kFailedPrecondition, context.AllLeftOut().front());
    }
    return Fail(Code::kNotFound,
                fmt::format("entity {} does not exist: 'entity list' lists all", options.id));
  }
  context.Answer(ToJson(view), TextOf(view));
  return Exit::kDone;
}

Result<Exit> RemoveEntity(const EntityOptions& options, Context& context, Backend& backend) {
  WEIR_RETURN_IF_ERROR(
      ApplyChanges(backend.config(), {DeleteEntity{options.id}}, context.StoreDeadline()));
  context.Answer({{"deleted", options.id}}, "deleted entity " + options.id);
  return Exit::kDone;
}

Result<Exit> ListChildren(const EntityOptions& options, Context& context, Backend& backend) {
  WEIR_ASSIGN_OR_RETURN(const auto records,
                        ListEntities(backend.config(), options.id, context.EachRequest()));
  Json json = {{"entity", options.id}, {"children", Json::array()}};
  Table table({"entity", "name", "cascade"});
  for (const EntityRecord& record : records) {
    json["children"].push_back(app::ToJson(record));
    table.Row({record.entity.id, record.entity.name, record.entity.cascade ? "yes" : "no"});
  }
  context.Answer(json, table.empty() ? options.id + " has no children\n" : table.Text());
  return Exit::kDone;
}

Result<Exit> PrintEntities(const EntityListOptions& options, Context& context, Backend& backend) {
  WEIR_ASSIGN_OR_RETURN(const Declared declared,
                        ReadDeclared(backend.config(), context.EachRequest(), &context.left_out()));
  const EntityPage page = PageOf(ViewsOf(declared), options);
  context.Answer(ToJson(page), TextOf(page));
  return Exit::kDone;
}

using EntityWork = Result<Exit> (*)(const EntityOptions&, Context&, Backend&);

struct EntityVerb {
  std::string name;
  std::string description;
  Access access;
  EntityWork work;
};

CLI::App& AddEntityVerb(CLI::App& group, const EntityVerb& verb,
                        const std::shared_ptr<EntityOptions>& options, Action& chosen) {
  return AddVerb(group, verb.name, verb.description, options, chosen,
                 [verb](const EntityOptions& given, Context& context) {
                   return context.WithBackend(verb.access, [&](Backend& backend) {
                     return verb.work(given, context, backend);
                   });
                 });
}

/// Adds a verb with an entity as its only argument.
void AddOnEntity(CLI::App& group, const EntityVerb& verb, Action& chosen) {
  auto options = std::make_shared<EntityOptions>();
  CLI::App& app = AddEntityVerb(group, verb, options, chosen);
  AddParsed(app, "ENTITY", options->id, Checked(CheckEntityId), "its id")
      ->required()
      ->option_text(" ");
}

void AddCreate(CLI::App& group, Action& chosen) {
  auto options = std::make_shared<EntityOptions>();
  CLI::App& verb = AddEntityVerb(
      group, {"create", "Create an entity", Access::kWrite, CreateNewEntity}, options, chosen);
  AddParsed(verb, "ENTITY", options->id, Checked(CheckEntityId), "its id")
      ->required()
      ->option_text(" ");
  verb.add_option("--name", options->name, "for people (default: the id)")->option_text("NAME");
  AddParsed(verb, "--parent", options->parent, Checked(CheckEntityId), "the entity above it")
      ->option_text("ENTITY");
  verb.add_flag("--cascade", options->cascade, "its requests charge the parent too, all or none")
      ->needs("--parent");
  AddParsedList(verb, "--metadata", options->metadata, ParseMetadataTexts, "for people")
      ->option_text("KEY=VALUE...");
}

Result<std::size_t> ParseEntityCount(const std::string& text) {
  return ParseWhole(text, 1, 1'000'000);
}

void AddList(CLI::App& group, Action& chosen) {
  auto options = std::make_shared<EntityListOptions>();
  CLI::App& verb = AddVerb(group, "list", "List the entities", options, chosen,
                           [](const EntityListOptions& given, Context& context) {
                             return context.WithBackend(Access::kRead, [&](Backend& backend) {
                               return PrintEntities(given, context, backend);
                             });
                           });
  AddParsed(verb, "--parent", options->parent, Checked(CheckEntityId), "those below this one")
      ->option_text("ENTITY");
  verb.add_option("--prefix", options->prefix, "those whose id or name begins with it")
      ->option_text("TEXT");
  AddParsed(verb, "-n,--count", options->count, ParseEntityCount,
            "the most entities to list (default: all)")
      ->option_text("N");
  AddParsed(verb, "--after", options->after, Checked(CheckEntityId), "those after this id")
      ->option_text("ENTITY");
}

}  // namespace

void AddEntity(CLI::App& app, Action& chosen) {
  CLI::App& group = AddGroup(app, "entity", "Entities, and the limits of each");
  AddCreate(group, chosen);
  AddOnEntity(group, {"show", "Show an entity and its limits", Access::kRead, ShowEntity}, chosen);
  AddOnEntity(
      group,
      {"delete", "Delete an entity, its limits and its buckets", Access::kWrite, RemoveEntity},
      chosen);
  AddOnEntity(group, {"children", "List the entities below one", Access::kRead, ListChildren},
              chosen);
  AddList(group, chosen);
  AddLevelVerbs(group, Scope::kEntity, chosen);
}

}  // namespace weir::app
