#include "weir/store/config/config_store.h"

#include <fmt/format.h>

#include <type_traits>

#include "weir/model/identifier.h"

namespace weir {
namespace {

bool NamesEntity(const Level& level) {
  return level.kind == Level::Kind::kEntityDefault || level.kind == Level::Kind::kEntity;
}

bool NamesResource(const Level& level) {
  return level.kind == Level::Kind::kResource || level.kind == Level::Kind::kEntity;
}

Status Bad(std::string message) { return Fail(Code::kInvalidArgument, std::move(message)); }

Status CheckLevel(const Level& level) {
  if (NamesEntity(level)) WEIR_RETURN_IF_ERROR(CheckEntityId(level.entity));
  if (NamesResource(level)) WEIR_RETURN_IF_ERROR(CheckResource(level.resource));
  if (!NamesEntity(level) && !level.entity.empty()) {
    return Bad("system and resource levels have no entity; leave it empty");
  }
  if (!NamesResource(level) && !level.resource.empty()) {
    return Bad("system and entity default levels have no resource; leave it empty");
  }
  return {};
}

Status CheckOne(const PutLimits& put) {
  WEIR_RETURN_IF_ERROR(CheckLevel(put.level));
  const auto& [limits, on_unavailable, managed] = put.limits;
  const bool is_system = put.level.kind == Level::Kind::kSystem;
  if (on_unavailable && !is_system) {
    return Bad(Describe(put.level) + ": on_unavailable can be set at the system level only");
  }
  if (limits.empty() && on_unavailable) return {};
  const Status valid = Validate(limits);
  if (valid) return {};
  return Bad(fmt::format("{}: {}", Describe(put.level), valid.error().message));
}

Status CheckOne(const DeleteLimits& change) { return CheckLevel(change.level); }
Status CheckOne(const CreateEntity& change) { return Check(change.record.entity); }
Status CheckOne(const PutEntity& change) { return Check(change.record.entity); }
Status CheckOne(const DeleteEntity& change) { return CheckEntityId(change.id); }

Level LevelOf(const PutLimits& change) { return change.level; }
Level LevelOf(const DeleteLimits& change) { return change.level; }
Level LevelOf(const CreateEntity& change) { return Level::EntityDefault(change.record.entity.id); }
Level LevelOf(const PutEntity& change) { return Level::EntityDefault(change.record.entity.id); }
Level LevelOf(const DeleteEntity& change) { return Level::EntityDefault(change.id); }

}  // namespace

std::string Describe(const Level& level) {
  switch (level.kind) {
    case Level::Kind::kSystem:
      return "system";
    case Level::Kind::kResource:
      return "resource " + level.resource;
    case Level::Kind::kEntityDefault:
      return "entity " + level.entity;
    case Level::Kind::kEntity:
      return fmt::format("entity {}, resource {}", level.entity, level.resource);
  }
  return "unknown level";
}

std::string Describe(const ConfigChange& change) {
  return std::visit([](const auto& one) { return Describe(LevelOf(one)); }, change);
}

Status Check(const ConfigChange& change) {
  return std::visit([](const auto& one) { return CheckOne(one); }, change);
}

}  // namespace weir
