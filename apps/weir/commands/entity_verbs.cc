// weir entity create|show|delete|children|list|list-resources, and the limits of an entity.
#include <fmt/format.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/weir/arguments.h"
#include "apps/weir/commands/group/group_verbs.h"
#include "apps/weir/commands/level_verbs.h"
#include "apps/weir/entity_chain.h"
#include "apps/weir/entity_view.h"
#include "apps/weir/options.h"
#include "apps/weir/terminal/json.h"
#include "apps/weir/terminal/listing.h"
#include "apps/weir/terminal/text.h"
#include "weir/model/identifier.h"

namespace weir::app {
namespace {

struct EntityOptions {
  std::string id;
  std::string name;
  std::optional<std::string> parent;
  bool cascade = false;
  std::map<std::string, std::string> metadata;
};

Result<Exit> CreateIn(Backend& backend, const EntityRecord& record, Context& context) {
  WEIR_RETURN_IF_ERROR(CheckCascades(record.entity, context, backend.config()));
  WEIR_RETURN_IF_ERROR(
      ApplyChanges(backend.config(), {CreateEntity{record}}, context.StoreDeadline()));
  const EntityView view{record.entity.id, record, {}};
  context.WriteResult(app::ToJson(record), "created\n" + TextOf(view));
  return Exit::kDone;
}

Result<Exit> RunEntityCreate(const EntityOptions& options, Context& context) {
  EntityRecord record;
  record.entity = {.id = options.id,
                   .name = options.name.empty() ? options.id : options.name,
                   .parent = options.parent,
                   .cascade = options.cascade,
                   .metadata = options.metadata,
                   .created_at = context.process().clock.WallNow()};
  // Before a store is opened, and possibly created.
  if (const Status valid = Check(record.entity); !valid) {
    context.failure = Exit::kUsage;
    return Fail(valid.error());
  }
  return context.WithBackend(Access::kWrite,
                             [&](Backend& backend) { return CreateIn(backend, record, context); });
}

Result<Exit> ShowEntity(const EntityOptions& options, Context& context, Backend& backend) {
  EntityView view{.id = options.id, .record = {}, .levels = {}};
  WEIR_ASSIGN_OR_RETURN(view.record,
                        GetEntity(backend.config(), options.id, context.StoreDeadline()));
  WEIR_ASSIGN_OR_RETURN(view.levels,
                        ListLevels(backend.config(), {.kind = {}, .entity = options.id},
                                   context.RequestDeadlines(), &context.left_out()));
  if (!view.record && view.levels.empty()) {
    if (!context.IsComplete(Context::Records::kConfig)) {
      return Fail(Code::kFailedPrecondition, context.AllLeftOut().front());
    }
    return Fail(Code::kNotFound,
                fmt::format("entity {} does not exist (run 'weir entity list' to see all entities)",
                            options.id));
  }
  context.WriteResult(ToJson(view), TextOf(view));
  return Exit::kDone;
}

// The children of a deleted entity keep it as their parent, and still charge it if they cascade.
Result<Exit> RemoveEntity(const EntityOptions& options, Context& context, Backend& backend) {
  WEIR_ASSIGN_OR_RETURN(
      const auto children,
      ListEntities(backend.config(), options.id, context.RequestDeadlines(), &context.left_out()));
  WEIR_RETURN_IF_ERROR(
      ApplyChanges(backend.config(), {DeleteEntity{options.id}}, context.StoreDeadline()));
  Json json = {{"deleted", options.id}, {"children", Json::array()}};
  for (const EntityRecord& child : children) json["children"].push_back(child.entity.id);
  std::string text = "deleted entity " + options.id;
  if (!children.empty()) {
    text +=
        fmt::format("\nit is still the parent of {}, without limits of its own: {}",
                    children.size() == 1 ? "1 entity" : fmt::format("{} entities", children.size()),
                    children.front().entity.id);
    if (children.size() > 1) text += ", ...";
  }
  context.WriteResult(json, text);
  return Exit::kDone;
}

Result<Exit> ListChildren(const EntityOptions& options, Context& context, Backend& backend) {
  WEIR_ASSIGN_OR_RETURN(
      const auto records,
      ListEntities(backend.config(), options.id, context.RequestDeadlines(), &context.left_out()));
  Json json = {{"entity", options.id}, {"children", Json::array()}};
  Table table({"entity", "name", "cascade"});
  for (const EntityRecord& record : records) {
    json["children"].push_back(app::ToJson(record));
    table.Row({record.entity.id, record.entity.name, record.entity.cascade ? "yes" : "no"});
  }
  const bool is_complete = context.IsComplete(Context::Records::kConfig);
  const std::string none = is_complete ? options.id + " has no children\n" : "";
  context.WriteResult(json, table.empty() ? none : table.Text());
  return Exit::kDone;
}

Result<Exit> PrintEntities(const EntityListOptions& options, Context& context, Backend& backend) {
  WEIR_ASSIGN_OR_RETURN(
      const Declared declared,
      ReadDeclared(backend.config(), context.RequestDeadlines(), &context.left_out()));
  const EntityPage page = PageOf(ViewsOf(declared), options);
  context.WriteResult(ToJson(page), TextOf(page));
  return Exit::kDone;
}

Result<Exit> PrintResources(const EntityOptions& options, Context& context, Backend& backend) {
  const LevelFilter filter{.kind = {},
                           .entity = options.id.empty() ? std::nullopt : std::optional(options.id)};
  WEIR_ASSIGN_OR_RETURN(
      const auto levels,
      ListLevels(backend.config(), filter, context.RequestDeadlines(), &context.left_out()));
  const auto entities = EntitiesByResource(levels);
  Json json = {{"resources", Json::array()}};
  Table table({"resource", ">entities"});
  for (const auto& [resource, count] : entities) {
    json["resources"].push_back({{"resource", resource}, {"entities", count}});
    table.Row({resource, fmt::format("{}", count)});
  }
  const bool is_complete = context.IsComplete(Context::Records::kConfig);
  const std::string subject = options.id.empty() ? "no entity has" : options.id + " does not have";
  const std::string none = is_complete ? subject + " limits of its own\n" : "";
  context.WriteResult(json, table.empty() ? none : table.Text());
  return Exit::kDone;
}

using EntityHandler = Result<Exit> (*)(const EntityOptions&, Context&, Backend&);

struct EntityVerb {
  std::string name;
  std::string description;
  Access access;
  EntityHandler handler;
};

CLI::App& AddEntityVerb(CLI::App& group, const EntityVerb& verb,
                        const std::shared_ptr<EntityOptions>& options, Action& chosen) {
  return AddVerb(group, verb.name, verb.description, options, chosen,
                 [verb](const EntityOptions& given, Context& context) {
                   return context.WithBackend(verb.access, [&](Backend& backend) {
                     return verb.handler(given, context, backend);
                   });
                 });
}

/// Adds a verb with an entity as its only argument.
void AddVerbForEntity(CLI::App& group, const EntityVerb& verb, Action& chosen) {
  auto options = std::make_shared<EntityOptions>();
  CLI::App& app = AddEntityVerb(group, verb, options, chosen);
  AddParsed(app, "ENTITY", options->id, Checked(CheckEntityId), "the ID of the entity")
      ->required()
      ->option_text(" ");
}

void AddCreate(CLI::App& group, Action& chosen) {
  auto options = std::make_shared<EntityOptions>();
  CLI::App& verb = AddVerb(group, "create", "Create an entity", options, chosen, RunEntityCreate);
  AddParsed(verb, "ENTITY", options->id, Checked(CheckEntityId), "the ID of the entity")
      ->required()
      ->option_text(" ");
  verb.add_option("--name,--display-name", options->name, "display name (default: the ID)")
      ->option_text("NAME");
  AddParsed(verb, "--parent", options->parent, Checked(CheckEntityId), "the parent of the entity")
      ->option_text("ENTITY");
  verb.add_flag("--cascade", options->cascade,
                "requests of this entity also charge its parent, atomically")
      ->needs("--parent");
  AddParsedList(verb, "--metadata", options->metadata, ParseMetadataTexts,
                "metadata, shown but not interpreted")
      ->option_text("KEY=VALUE");
}

void AddListResources(CLI::App& group, Action& chosen) {
  auto options = std::make_shared<EntityOptions>();
  CLI::App& verb = AddEntityVerb(
      group,
      {"list-resources", "List the resources on which entities have limits of their own",
       Access::kRead, PrintResources},
      options, chosen);
  AddParsed(verb, "ENTITY", options->id, Checked(CheckEntityId),
            "only list resources on which this entity has limits")
      ->option_text(" ");
}

Result<std::size_t> ParseEntityCount(const std::string& text) {
  return ParseIntegerInRange(text, 1, 1'000'000);
}

void AddList(CLI::App& group, Action& chosen) {
  auto options = std::make_shared<EntityListOptions>();
  CLI::App& verb = AddVerb(group, "list", "List the entities", options, chosen,
                           [](const EntityListOptions& given, Context& context) {
                             return context.WithBackend(Access::kRead, [&](Backend& backend) {
                               return PrintEntities(given, context, backend);
                             });
                           });
  AddParsed(verb, "--parent", options->parent, Checked(CheckEntityId),
            "only list entities whose parent is ENTITY")
      ->option_text("ENTITY");
  AddParsed(
      verb, "--with-custom-limits", options->limits_on, Checked(CheckResourceOrDefault),
      "only list entities with their own limits on RESOURCE (or _default_ for the default limits)")
      ->option_text("RESOURCE");
  verb.add_option("--prefix", options->prefix,
                  "only list entities whose ID or name starts with TEXT")
      ->option_text("TEXT");
  AddParsed(verb, "-n,--count", options->count, ParseEntityCount,
            "maximum number of entities to list (default: all)")
      ->option_text("N");
  AddParsed(verb, "--after", options->after, Checked(CheckEntityId),
            "only list entities whose ID sorts after ENTITY")
      ->option_text("ENTITY");
}

}  // namespace

void AddEntity(CLI::App& app, Action& chosen) {
  CLI::App& group = AddGroup(app, "entity", "Entities, and the limits of each");
  AddCreate(group, chosen);
  AddEntityUpdate(group, chosen);
  AddVerbForEntity(group, {"show", "Show an entity and its limits", Access::kRead, ShowEntity},
                   chosen);
  AddVerbForEntity(
      group,
      {"delete", "Delete an entity, its limits and its buckets", Access::kWrite, RemoveEntity},
      chosen);
  AddVerbForEntity(
      group, {"children", "List the children of an entity", Access::kRead, ListChildren}, chosen);
  AddList(group, chosen);
  AddListResources(group, chosen);
  AddLevelVerbs(group, Scope::kEntity, chosen);
}

}  // namespace weir::app
