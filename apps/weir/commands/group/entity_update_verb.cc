// weir entity update: changes the record of an entity.
#include <fmt/format.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/weir/arguments.h"
#include "apps/weir/commands/group/group_verbs.h"
#include "apps/weir/entity_chain.h"
#include "apps/weir/entity_view.h"
#include "apps/weir/options.h"
#include "apps/weir/terminal/json.h"
#include "apps/weir/terminal/listing.h"
#include "weir/model/identifier.h"

namespace weir::app {
namespace {

struct EntityUpdate {
  std::string id;
  std::optional<std::string> name;
  std::optional<std::string> parent;
  bool no_parent = false;
  bool cascade = false;
  bool no_cascade = false;
  std::map<std::string, std::string> metadata;

  bool MovesEntity() const { return parent || no_parent || cascade || no_cascade; }
  bool ChangesNothing() const { return !MovesEntity() && !name && metadata.empty(); }
};

/// Returns the record with the changes. If the command changes the parent or the cascade, a limits
/// file no longer manages the record.
Result<EntityRecord> Updated(const EntityUpdate& update, EntityRecord record) {
  Entity& entity = record.entity;
  if (update.name) entity.name = *update.name;
  if (update.parent) entity.parent = update.parent;
  if (update.no_parent) entity.parent.reset();
  if (update.cascade) entity.cascade = true;
  if (update.no_cascade || update.no_parent) entity.cascade = false;
  for (const auto& [key, value] : update.metadata) entity.metadata[key] = value;
  if (update.MovesEntity()) record.managed = false;
  if (!update.cascade || entity.parent) return record;
  return Fail(Code::kFailedPrecondition,
              fmt::format("entity {} has no parent to charge: give --parent ENTITY with --cascade",
                          entity.id));
}

// A record that equals the stored one is put, too: a table then continues to copy the parent into
// the entity's buckets, which an earlier run may not have completed.
Result<Exit> UpdateEntity(const EntityUpdate& update, Context& context, Backend& backend) {
  ConfigStore& store = backend.config();
  WEIR_ASSIGN_OR_RETURN(auto stored, GetEntity(store, update.id, context.StoreDeadline()));
  if (!stored) {
    return Fail(Code::kNotFound,
                fmt::format("entity {} does not exist: 'entity create' creates it", update.id));
  }
  WEIR_ASSIGN_OR_RETURN(const EntityRecord record, Updated(update, *std::move(stored)));
  if (update.MovesEntity()) WEIR_RETURN_IF_ERROR(CheckCascades(record.entity, context, store));
  WEIR_RETURN_IF_ERROR(ApplyChanges(store, {PutEntity{record}}, context.StoreDeadline()));
  context.WriteResult(app::ToJson(record),
                      "updated\n" + app::TextOf(EntityView{update.id, record, {}}));
  return Exit::kDone;
}

Result<Exit> UpdateAsGiven(const EntityUpdate& update, Context& context) {
  if (update.ChangesNothing()) {
    context.failure = Exit::kUsage;
    return Fail(Code::kInvalidArgument,
                "nothing to change: give --parent, --no-parent, --cascade, --no-cascade, --name or "
                "--metadata");
  }
  const Entity given{.id = update.id,
                     .name = update.name.value_or(""),
                     .parent = update.parent,
                     .metadata = update.metadata};
  if (const Status valid = Check(given); !valid) {
    context.failure = Exit::kUsage;
    return Fail(valid.error());
  }
  return context.WithBackend(
      Access::kWrite, [&](Backend& backend) { return UpdateEntity(update, context, backend); });
}

}  // namespace

void AddEntityUpdate(CLI::App& group, Action& chosen) {
  auto options = std::make_shared<EntityUpdate>();
  CLI::App& verb =
      AddVerb(group, "update", "Change the parent, cascade, name or metadata of an entity", options,
              chosen, UpdateAsGiven);
  AddParsed(verb, "ENTITY", options->id, Checked(CheckEntityId), "the ID of the entity")
      ->required()
      ->option_text(" ");
  CLI::Option* parent = AddParsed(verb, "--parent", options->parent, Checked(CheckEntityId),
                                  "the new parent of the entity")
                            ->option_text("ENTITY");
  CLI::Option* none =
      verb.add_flag("--no-parent", options->no_parent, "remove the parent of the entity")
          ->excludes(parent);
  CLI::Option* cascade = verb.add_flag("--cascade", options->cascade,
                                       "requests of this entity also charge its parent, atomically")
                             ->excludes(none);
  verb.add_flag("--no-cascade", options->no_cascade,
                "requests of this entity do not charge its parent")
      ->excludes(cascade);
  verb.add_option("--name,--display-name", options->name, "display name")->option_text("NAME");
  AddParsedList(verb, "--metadata", options->metadata, ParseMetadataTexts,
                "metadata to set, shown but not interpreted; other keys stay")
      ->option_text("KEY=VALUE");
}

}  // namespace weir::app
