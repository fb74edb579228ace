#include "apps/weir/limits/limits_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "weir/model/identifier.h"

namespace weir::app {
namespace {

Level LevelOf(const std::string& entity, const std::string& resource) {
  if (resource == kDefaultResource) return Level::EntityDefault(entity);
  return Level::Entity(entity, resource);
}

EntityRecord RecordOf(const std::string& id, const EntityDeclaration& declaration) {
  EntityRecord record;
  record.entity.id = id;
  record.entity.name = id;
  record.entity.parent = declaration.parent;
  record.entity.cascade = declaration.cascade;
  record.managed = true;
  return record;
}

std::string ParentLabel(const std::string& id) { return "parent of " + id; }

/// Compares the live records of a store with a limits file. Equal records are only counted.
class Planner {
 public:
  Planner(const LimitsFile& file, const Declared& live, UnixMillis now)
      : file_(file), declared_(DeclaredBy(file)), live_(live), now_(now) {}

  Plan MakePlan() {
    for (const auto& [level, limits] : declared_.levels) PlanLevel(level, limits);
    for (const auto& [level, limits] : live_.levels) {
      if (!declared_.levels.contains(level)) PlanLevelRemoval(level, limits);
    }
    for (const auto& [id, record] : declared_.entities) PlanEntity(id, record);
    for (const auto& [id, record] : live_.entities) {
      if (!declared_.entities.contains(id)) PlanEntityRemoval(id, record);
    }
    return std::move(plan_);
  }

 private:
  void PlanLevel(const Level& level, const LevelLimits& limits) {
    const auto found = live_.levels.find(level);
    const bool exists = found != live_.levels.end();
    if (exists && found->second == limits) return CountUnchanged();
    // The level of the system may have no limits, only on_unavailable.
    const bool drops_limits = exists && !found->second.limits.empty() && limits.limits.empty();
    PlannedChange& planned = AddChange(drops_limits ? PlannedAction::kDelete
                                       : exists     ? PlannedAction::kUpdate
                                                    : PlannedAction::kCreate);
    planned.target = drops_limits ? "limits of the " + Describe(level) : Describe(level);
    if (exists) planned.live = LevelRecord{level, found->second};
    planned.wanted = LevelRecord{level, limits};
    planned.change = PutLimits{level, limits};
  }

  void PlanLevelRemoval(const Level& level, const LevelLimits& limits) {
    PlannedChange& planned =
        AddChange(limits.managed ? PlannedAction::kDelete : PlannedAction::kLeave);
    planned.target = Describe(level);
    planned.live = LevelRecord{level, limits};
    if (limits.managed) planned.change = DeleteLimits{level};
  }

  void PlanEntity(const std::string& id, EntityRecord record) {
    const auto found = live_.entities.find(id);
    if (found == live_.entities.end()) {
      record.entity.created_at = now_;
      return AddEntityPut(PlannedAction::kCreate, {}, record);
    }
    // A limits file contains no names or metadata, so the live values are kept.
    EntityRecord wanted = found->second;
    wanted.entity.parent = record.entity.parent;
    wanted.entity.cascade = record.entity.cascade;
    wanted.managed = true;
    if (wanted == found->second) return CountUnchanged();
    AddEntityPut(PlannedAction::kUpdate, found->second, wanted);
  }

  void AddEntityPut(PlannedAction action, PlannedState live, const EntityRecord& wanted) {
    PlannedChange& planned = AddChange(action);
    planned.target = ParentLabel(wanted.entity.id);
    planned.live = std::move(live);
    planned.wanted = wanted;
    planned.change = PutEntity{wanted};
  }

  // Plans what happens to a live entity for which the file declares no parent. If the file lists
  // the entity only for its limits, only the parent link is cleared. Otherwise the entity is
  // deleted if it is managed and has no limits that were set by hand.
  void PlanEntityRemoval(const std::string& id, const EntityRecord& record) {
    if (record.managed && file_.entities.contains(id)) {
      return PlanEntity(id, RecordOf(id, file_.entities.at(id)));
    }
    if (!record.managed && !record.entity.parent) return;
    const bool is_deleted = record.managed && !HasLimitsSetByHand(id);
    PlannedChange& planned = AddChange(is_deleted ? PlannedAction::kDelete : PlannedAction::kLeave);
    planned.target = is_deleted ? fmt::format("entity {} (with its buckets)", id) : ParentLabel(id);
    planned.live = record;
    if (is_deleted) planned.change = DeleteEntity{id};
  }

  bool HasLimitsSetByHand(const std::string& id) const {
    return std::any_of(live_.levels.begin(), live_.levels.end(), [&](const auto& entry) {
      return entry.first.entity == id && !entry.second.managed;
    });
  }

  void CountUnchanged() { ++plan_.unchanged; }

  PlannedChange& AddChange(PlannedAction action) {
    return plan_.changes.emplace_back(PlannedChange{.action = action});
  }

  const LimitsFile& file_;
  const Declared declared_;
  const Declared& live_;
  const UnixMillis now_;
  Plan plan_;
};

}  // namespace

Declared DeclaredBy(const LimitsFile& file) {
  Declared declared;
  if (!file.system.empty() || file.on_unavailable) {
    declared.levels[Level::System()] = {file.system, file.on_unavailable, true};
  }
  for (const auto& [resource, limits] : file.resources) {
    declared.levels[Level::Resource(resource)] = {limits, std::nullopt, true};
  }
  for (const auto& [id, declaration] : file.entities) {
    for (const auto& [resource, limits] : declaration.resources) {
      declared.levels[LevelOf(id, resource)] = {limits, std::nullopt, true};
    }
    if (declaration.parent || declaration.cascade) {
      declared.entities[id] = RecordOf(id, declaration);
    }
  }
  return declared;
}

LimitsFile FileOf(const Declared& live, const std::string& namespace_name) {
  LimitsFile file;
  file.namespace_name = namespace_name;
  for (const auto& [level, limits] : live.levels) {
    if (level.kind == Level::Kind::kSystem) {
      file.system = limits.limits;
      file.on_unavailable = limits.on_unavailable;
    } else if (level.kind == Level::Kind::kResource) {
      file.resources[level.resource] = limits.limits;
    } else {
      const std::string resource(level.resource.empty() ? kDefaultResource : level.resource);
      file.entities[level.entity].resources[resource] = limits.limits;
    }
  }
  for (const auto& [id, record] : live.entities) {
    if (!record.entity.parent) continue;
    file.entities[id].parent = record.entity.parent;
    file.entities[id].cascade = record.entity.cascade;
  }
  return file;
}

Plan MakePlan(const LimitsFile& file, const Declared& live, UnixMillis now) {
  return Planner(file, live, now).MakePlan();
}

Parents ParentsAfter(const Plan& plan, const Declared& live) {
  Parents parents;
  const auto put = [&parents](const EntityRecord& record) {
    EntityDeclaration& declaration = parents[record.entity.id];
    declaration.parent = record.entity.parent;
    declaration.cascade = record.entity.cascade;
  };
  for (const auto& [id, record] : live.entities) put(record);
  for (const ConfigChange& change : plan.ToApply()) {
    if (const auto* changed = std::get_if<PutEntity>(&change)) put(changed->record);
    if (const auto* gone = std::get_if<DeleteEntity>(&change)) parents.erase(gone->id);
  }
  return parents;
}

std::optional<ParentFault> ParentFaultIntroducedBy(const Plan& plan, const Declared& live) {
  std::optional<ParentFault> fault = FindParentFault(ParentsAfter(plan, live));
  if (!fault) return std::nullopt;
  const auto before = FindParentFault(ParentsAfter({}, live));
  return before && before->message == fault->message ? std::nullopt : fault;
}

std::size_t Plan::Count(PlannedAction action) const {
  return static_cast<std::size_t>(
      std::count_if(changes.begin(), changes.end(),
                    [&](const PlannedChange& planned) { return planned.action == action; }));
}

std::vector<ConfigChange> Plan::ToApply() const {
  std::vector<ConfigChange> list;
  for (const PlannedChange& planned : changes) {
    if (planned.change) list.push_back(*planned.change);
  }
  return list;
}

Status ApplyPlan(const Plan& plan, ConfigStore& store, Deadline deadline) {
  std::vector<ConfigChange> changes = plan.ToApply();
  if (changes.empty()) return {};
  return ApplyChanges(store, std::move(changes), deadline);
}

}  // namespace weir::app
