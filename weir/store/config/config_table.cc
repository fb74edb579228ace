#include "weir/store/config/config_table.h"

#include <fmt/format.h>

#include <string_view>

#include "weir/store/config/config_transaction.h"
#include "weir/store/listing.h"

namespace weir {
namespace {

// A cursor begins with the letter of its listing, or with the level's kind, and then has the
// identifiers of the page's last item. No identifier contains a space.
constexpr char kAllEntities = 'e';
constexpr char kChildren = 'c';

constexpr Level::Kind kKinds[] = {Level::Kind::kSystem, Level::Kind::kResource,
                                  Level::Kind::kEntityDefault, Level::Kind::kEntity};

std::string CursorOf(const Level& level) {
  return fmt::format("{} {} {}", static_cast<int>(level.kind), level.entity, level.resource);
}

std::optional<Level> ReadLevel(std::string_view cursor) {
  const std::size_t space = cursor.find(' ', 2);
  if (space == cursor.npos || cursor[1] != ' ' || cursor[0] < '0' || cursor[0] > '3') return {};
  Level level{.kind = static_cast<Level::Kind>(cursor[0] - '0'),
              .entity = std::string(cursor.substr(2, space - 2)),
              .resource = std::string(cursor.substr(space + 1))};
  if (!Check(DeleteLimits{level})) return {};
  return level;
}

}  // namespace

std::optional<LevelLimits> ConfigTable::GetLimits(const Level& level) const {
  const auto found = limits_.find(level);
  if (found == limits_.end()) return std::nullopt;
  return found->second;
}

Result<std::vector<std::optional<LevelLimits>>> ConfigTable::ReadLimits(
    std::span<const Level> levels) const {
  std::vector<std::optional<LevelLimits>> found;
  found.reserve(levels.size());
  for (const Level& level : levels) {
    if (unreadable_.contains(level)) {
      return Fail(Code::kDataLoss,
                  fmt::format("{}: its limits are damaged and cannot be read; delete them, or set "
                              "them again, those of the system together with on_unavailable",
                              Describe(level)));
    }
    found.push_back(GetLimits(level));
  }
  return found;
}

Result<Page<LevelRecord>> ConfigTable::ListLimits(const LevelFilter& filter,
                                                  const PageRequest& request) const {
  WEIR_RETURN_IF_ERROR(CheckLimit(request));
  std::optional<Level> after;
  if (!request.cursor.empty()) {
    after = ReadLevel(request.cursor);
    if (!after || !filter.Matches(*after)) return BadCursor();
  }
  Page<LevelRecord> page;
  // The matching levels of each kind are adjacent in the map.
  for (const Level::Kind kind : kKinds) {
    if (filter.kind.value_or(kind) != kind || (after && after->kind > kind)) continue;
    auto at = after && after->kind == kind
                  ? limits_.upper_bound(*after)
                  : limits_.lower_bound({.kind = kind, .entity = filter.entity.value_or("")});
    for (; at != limits_.end() && at->first.kind == kind && filter.Matches(at->first); ++at) {
      if (page.items.size() == request.limit) {
        page.next = CursorOf(page.items.back().level);
        return page;
      }
      page.items.push_back({at->first, at->second});
    }
  }
  return page;
}

std::optional<EntityRecord> ConfigTable::GetEntity(const std::string& id) const {
  const auto found = entities_.find(id);
  if (found == entities_.end()) return std::nullopt;
  return found->second;
}

Result<std::vector<std::optional<EntityRecord>>> ConfigTable::ReadEntities(
    std::span<const std::string> ids) const {
  std::vector<std::optional<EntityRecord>> found;
  found.reserve(ids.size());
  for (const std::string& id : ids) {
    if (unreadable_entities_.contains(id)) {
      return Fail(
          Code::kDataLoss,
          fmt::format(
              "entity {}: its entry is damaged, and its requests may have to be charged to a "
              "parent; create it again, or delete it",
              id));
    }
    found.push_back(GetEntity(id));
  }
  return found;
}

Result<Page<EntityRecord>> ConfigTable::ListEntities(const std::optional<std::string>& parent,
                                                     const PageRequest& request) const {
  return parent ? ListChildren(*parent, request) : ListAll(request);
}

Result<Page<EntityRecord>> ConfigTable::ListAll(const PageRequest& request) const {
  WEIR_ASSIGN_OR_RETURN(const std::string after, ReadEntityCursor(request, kAllEntities));
  Page<EntityRecord> page;
  for (auto at = entities_.upper_bound(after); at != entities_.end(); ++at) {
    if (page.items.size() == request.limit) {
      page.next = kAllEntities + page.items.back().entity.id;
      break;
    }
    page.items.push_back(at->second);
  }
  return page;
}

Result<Page<EntityRecord>> ConfigTable::ListChildren(const std::string& parent,
                                                     const PageRequest& request) const {
  WEIR_ASSIGN_OR_RETURN(const std::string after, ReadEntityCursor(request, kChildren));
  Page<EntityRecord> page;
  auto at = children_.upper_bound({parent, after});
  for (; at != children_.end() && at->first == parent; ++at) {
    if (page.items.size() == request.limit) {
      page.next = kChildren + page.items.back().entity.id;
      break;
    }
    page.items.push_back(entities_.at(at->second));
  }
  return page;
}

Status ConfigTable::Apply(std::span<const ConfigChange> changes, const HasBuckets& has_buckets) {
  ConfigTransaction transaction(*this, has_buckets);
  WEIR_RETURN_IF_ERROR(transaction.Make(changes));
  transaction.Commit();
  return {};
}

std::vector<Level> ConfigTable::LevelsOf(const std::string& entity) const {
  std::vector<Level> levels;
  if (limits_.contains(Level::EntityDefault(entity))) {
    levels.push_back(Level::EntityDefault(entity));
  }
  // No resource is empty, so this level is before all others of the entity.
  auto at = limits_.lower_bound(Level::Entity(entity, ""));
  for (; at != limits_.end() && at->first.entity == entity; ++at) levels.push_back(at->first);
  for (const Level& level : unreadable_) {
    if (level.entity == entity) levels.push_back(level);
  }
  return levels;
}

std::optional<LevelLimits> ConfigTable::Exchange(const Level& level,
                                                 std::optional<LevelLimits> value) {
  std::optional<LevelLimits> old = GetLimits(level);
  if (value) {
    limits_.insert_or_assign(level, *std::move(value));
  } else {
    limits_.erase(level);
  }
  return old;
}

std::optional<EntityRecord> ConfigTable::Exchange(const std::string& id,
                                                  std::optional<EntityRecord> value) {
  std::optional<EntityRecord> old = GetEntity(id);
  if (old && old->entity.parent) children_.erase({*old->entity.parent, id});
  if (!value) {
    entities_.erase(id);
    return old;
  }
  if (value->entity.parent) children_.insert({*value->entity.parent, id});
  entities_.insert_or_assign(id, *std::move(value));
  return old;
}

}  // namespace weir
