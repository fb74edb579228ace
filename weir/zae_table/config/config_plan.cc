#include "weir/zae_table/config/config_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>
#include <utility>
#include <variant>

#include "weir/model/identifier.h"
#include "weir/model/ulid.h"
#include "weir/store/config/config_audit.h"
#include "weir/store/config/config_table.h"
#include "weir/zae_table/config/config_fields.h"
#include "weir/zae_table/config/config_item.h"
#include "weir/zae_table/config/config_listing.h"
#include "weir/zae_table/config/config_registry.h"
#include "weir/zae_table/config/config_write.h"
#include "weir/zae_table/config/entity_item.h"
#include "weir/zae_table/records/audit.h"
#include "weir/zae_table/version.h"

namespace weir::dynamo {
namespace {

// The greatest number of limits that one transaction of a deletion deletes. The other actions of
// the transaction are for the registries and the event.
constexpr std::size_t kMaxDrops = 90;

template <class... Cases>
struct Match : Cases... {
  using Cases::operator()...;
};
template <class... Cases>
Match(Cases...) -> Match<Cases...>;

// The levels and entities that a list of changes names.
struct Touched {
  std::set<Level> levels;
  std::set<std::string> entities;
  std::set<std::string> deleted;
  std::set<std::string> parents;

  void Put(const EntityRecord& record) {
    entities.insert(record.entity.id);
    if (record.entity.parent) parents.insert(*record.entity.parent);
  }
  void Delete(const std::string& id) {
    entities.insert(id);
    deleted.insert(id);
  }
};

Touched TouchedBy(std::span<const ConfigChange> changes) {
  Touched touched;
  const Match note{[&](const PutLimits& put) { touched.levels.insert(put.level); },
                   [&](const DeleteLimits& change) { touched.levels.insert(change.level); },
                   [&](const CreateEntity& create) { touched.Put(create.record); },
                   [&](const PutEntity& put) { touched.Put(put.record); },
                   [&](const DeleteEntity& change) { touched.Delete(change.id); }};
  for (const ConfigChange& change : changes) std::visit(note, change);
  return touched;
}

// Loads the state into a ConfigTable, applies the changes to it, and plans the difference. Make is
// called once.
class ConfigPlanner {
 public:
  ConfigPlanner(const Keys& keys, std::span<const ConfigChange> changes, const ConfigState& state,
                const ConfigSources& sources)
      : keys_(keys),
        changes_(changes),
        state_(state),
        sources_(sources),
        touched_(TouchedBy(changes)) {}

  Result<ConfigPlan> Make() {
    WEIR_RETURN_IF_ERROR(Load());
    WEIR_RETURN_IF_ERROR(table_.Apply(
        changes_, [this](const std::string& id) { return with_other_records_.contains(id); }));
    PlanLevels();
    PlanEntities();
    WEIR_RETURN_IF_ERROR(PlanClientMin());
    const RegistryChanges::Read read{.resources = state_.Find(keys_.ResourceRegistry()),
                                     .counts = state_.Find(keys_.EntityConfigRegistry())};
    registries_.AppendTo(keys_, read, plan_.writes);
    plan_.erased_entities.assign(touched_.deleted.begin(), touched_.deleted.end());
    const bool changes_nothing =
        plan_.writes.empty() && plan_.erased_entities.empty() && plan_.deleted_items.empty();
    if (!changes_nothing) PlanAudit();
    return std::move(plan_);
  }

 private:
  // Loads the state into the table that the changes are applied to.
  Status Load() {
    with_other_records_ = state_.with_buckets;
    for (const auto& [key, item] : state_.items) {
      if (!item) continue;
      if (const auto level = LevelAt(keys_, key)) {
        WEIR_RETURN_IF_ERROR(LoadLevel(*level, *item));
      } else if (key.sk == kEntitySort) {
        WEIR_RETURN_IF_ERROR(LoadEntity(*item));
      }
    }
    const Status loaded = table_.Apply(loads_);
    if (loaded) return {};
    return Fail(loaded.error().code,
                fmt::format("in the stored entities: {}", loaded.error().message));
  }

  Status LoadLevel(const Level& level, const Item& item) {
    // table_ only needs to know that the level has limits. No change depends on what they are,
    // since limits are only replaced, deleted or kept. So one limit "x" represents them.
    const PutLimits load{level, {.limits = {{"x", PerMinute(1)}}}};
    if (touched_.levels.contains(level)) {
      WEIR_ASSIGN_OR_RETURN(const auto limits, ReadConfig(level, item));
      if (limits) loads_.emplace_back(load);
    } else if (NamesEntity(level) && touched_.deleted.contains(level.entity)) {
      dropped_.insert(level);
      // table_ may refuse names that other writers use. Then it only knows that the entity has
      // other records.
      if (Check(load)) {
        loads_.emplace_back(load);
      } else {
        with_other_records_.insert(level.entity);
      }
    }
    return {};
  }

  Status LoadEntity(const Item& item) {
    WEIR_ASSIGN_OR_RETURN(EntityRecord record, ReadEntity(item));
    std::optional<std::string>& parent = record.entity.parent;
    if (parent && !CheckEntityId(*parent)) parent.reset();
    // The plan depends on parents only, and names or metadata of other writers could be refused.
    record.entity.name.clear();
    record.entity.metadata.clear();
    loads_.emplace_back(PutEntity{std::move(record)});
    return {};
  }

  // Plans the levels that the changes name, then those that are deleted with their entities.
  void PlanLevels() {
    for (const Level& level : touched_.levels) {
      const Item* old = state_.Find(keys_.Config(level));
      if (auto after = table_.GetLimits(level)) {
        plan_.writes.push_back(
            SetConfig(keys_, {level, *std::move(after)}, old, sources_.random()));
        if (old == nullptr || !IsRegistered(level, *old)) registries_.Add(level);
      } else if (old != nullptr && touched_.deleted.contains(level.entity)) {
        dropped_.insert(level);
      } else if (old != nullptr && ReadConfig(level, *old)->has_value()) {
        plan_.writes.push_back(ClearConfig(keys_, level, *old));
        if (IsOurs(level, *old) && IsRegistered(level, *old)) registries_.Remove(level);
      }
    }
    for (const Level& level : dropped_) Drop(level);
  }

  // Deletes a level of a deleted entity. If the only change is the deletion of an entity with many
  // limits, the next transaction deletes the remaining limits (plan_.partial).
  void Drop(const Level& level) {
    const Item& old = *state_.Find(keys_.Config(level));
    if (changes_.size() == 1 && plan_.writes.size() == kMaxDrops) {
      plan_.partial = true;
      return;
    }
    plan_.writes.push_back(DropConfig(keys_, level, old));
    ++plan_.dropped;
    if (IsRegistered(level, old)) registries_.Remove(level);
  }

  void PlanEntities() {
    for (const std::string& id : touched_.entities) {
      const Item* old = state_.Find(keys_.Entity(id));
      const auto after = table_.GetEntity(id);
      if (!after) {
        if (old != nullptr) plan_.deleted_items.push_back(DropEntity(keys_, id, *old));
        continue;
      }
      const bool anew = old == nullptr || touched_.deleted.contains(id);
      plan_.writes.push_back(anew ? CreateItem(*after, old) : ChangeEntity(keys_, *after, *old));
      const EntityRecord before = anew ? EntityRecord{} : *ReadEntity(*old);
      const bool moves = anew || before.entity.parent != after->entity.parent;
      moves_an_entity_ |= moves && !anew;
      if (moves && after->entity.parent) RequireAncestors(*after->entity.parent);
      const bool changes_cascade = before.entity.cascade != after->entity.cascade;
      const bool must_propagate =
          anew ? after->entity.parent.has_value() : moves || changes_cascade || before == *after;
      if (must_propagate) plan_.propagated.push_back({id, anew});
    }
  }

  // As zae-limiter does, locks out clients that do not know that an entity can get another parent:
  // they would charge the parent that they have cached.
  Status PlanClientMin() {
    if (!moves_an_entity_) return {};
    const Item* record = state_.Find(VersionRecord());
    if (record == nullptr) {
      return Fail(Code::kFailedPrecondition,
                  "the table has no version record, which must lock out clients that do not know "
                  "that the parent of an entity can change: 'weir table create' adds the record");
    }
    WEIR_RETURN_IF_ERROR(CheckAggregator(ReadVersion(*record), kParentMoves));
    if (auto raise = RaiseClientMin(*record, kParentMoves)) {
      plan_.writes.push_back(*std::move(raise));
    }
    return {};
  }

  void PlanAudit() {
    UlidMaker ids;
    const std::int64_t retention_days = RetentionIn(state_.Find(keys_.Config(Level::System())));
    const UnixMillis now = sources_.now();
    for (const ConfigChange& change : changes_.subspan(state_.first_is_audited ? 1 : 0)) {
      auto event = EventOf(change, EntityBefore(change));
      if (!event) continue;
      event->at = now;
      event->principal = sources_.principal;
      event->id = ids.Next(now, {static_cast<std::uint16_t>(sources_.random()), sources_.random()});
      plan_.writes.push_back(AuditWrite(keys_, *event, retention_days));
    }
  }

  std::optional<EntityRecord> EntityBefore(const ConfigChange& change) const {
    const auto* put = std::get_if<PutEntity>(&change);
    const Item* old = put == nullptr ? nullptr : state_.Find(keys_.Entity(put->record.entity.id));
    if (old == nullptr) return std::nullopt;
    auto record = ReadEntity(*old);
    return record ? std::optional(*std::move(record)) : std::nullopt;
  }

  // Returns the write that creates the entity, or creates it again over its old item.
  Write CreateItem(const EntityRecord& record, const Item* old) {
    const Birth birth{.now = sources_.now(), .random = sources_.random()};
    if (old == nullptr) return MakeEntity(keys_, record, birth);
    return RemakeEntity(keys_, record, *old, birth);
  }

  // Two writers that each make the other's entity a parent must not both succeed, or the chain of
  // parents would be a cycle. So a write that gives an entity a parent requires that all ancestors
  // of the parent are as they were read.
  void RequireAncestors(std::string id) {
    while (held_.insert(id).second) {
      if (!touched_.entities.contains(id)) {
        plan_.writes.push_back(CheckEntity(keys_, id, state_.Find(keys_.Entity(id))));
      }
      const auto record = table_.GetEntity(id);
      if (!record || !record->entity.parent) return;
      id = *record->entity.parent;
    }
  }

  const Keys& keys_;
  std::span<const ConfigChange> changes_;
  const ConfigState& state_;
  const ConfigSources& sources_;
  const Touched touched_;
  ConfigTable table_;
  std::vector<ConfigChange> loads_;
  std::set<std::string>
      with_other_records_;        // entities with records or limits that table_ does not contain
  std::set<Level> dropped_;       // levels that are deleted with their entities
  std::set<std::string> held_;    // entities that RequireAncestors has visited
  bool moves_an_entity_ = false;  // an entity that exists gets another parent
  RegistryChanges registries_;
  ConfigPlan plan_;
};

}  // namespace

const Item* ConfigState::Find(const TableKey& key) const {
  const auto found = items.find(key);
  return found == items.end() || !found->second ? nullptr : &*found->second;
}

std::vector<TableKey> KeysOf(const Keys& keys, std::span<const ConfigChange> changes) {
  const Touched touched = TouchedBy(changes);
  std::set<TableKey> found;
  for (const Level& level : touched.levels) found.insert(keys.Config(level));
  for (const std::string& id : touched.entities) found.insert(keys.Entity(id));
  for (const std::string& id : touched.parents) found.insert(keys.Entity(id));
  if (!touched.entities.empty()) found.insert(VersionRecord());
  return {found.begin(), found.end()};
}

Result<ConfigPlan> MakePlan(const Keys& keys, std::span<const ConfigChange> changes,
                            const ConfigState& state, const ConfigSources& sources) {
  return ConfigPlanner(keys, changes, state, sources).Make();
}

}  // namespace weir::dynamo
