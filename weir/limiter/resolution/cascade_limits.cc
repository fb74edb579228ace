#include "weir/limiter/resolution/cascade_limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <variant>

namespace weir {
namespace {

// If more entities than this change at once, dropping all pairs is cheaper than a scan for each
// entity.
constexpr std::size_t kMaxEntities = 16;

// Returns the index in `found` of the level that applies to a member of the chain.
std::optional<std::size_t> LevelOfMember(const LimitsByLevel& found, std::size_t member) {
  const std::size_t shared = found.size() - 2;
  return FirstWithLimits(found, {2 * member, 2 * member + 1, shared, shared + 1});
}

// The target of one entity in a result.
struct EntityTarget {
  const Target* target = nullptr;  // null: no limits apply to the entity
  bool is_shared = true;           // the limits come from a level that other entities share

  friend bool operator==(const EntityTarget& a, const EntityTarget& b) {
    if (a.target == nullptr || b.target == nullptr) return a.target == b.target;
    return a.is_shared == b.is_shared && SameLimits(*a.target, *b.target);
  }
};

EntityTarget TargetOfEntity(const Resolution& resolution, const std::string& entity) {
  if (!resolution.result) return {};
  const Resolved& resolved = *resolution.result;
  for (std::size_t i = 0; i < resolved.targets.size(); ++i) {
    if (resolved.targets[i]->key.entity != entity) continue;
    const Level::Kind kind = resolved.kinds[i];
    return {.target = resolved.targets[i].get(),
            .is_shared = kind == Level::Kind::kSystem || kind == Level::Kind::kResource};
  }
  return {};
}

Error NoLimits(const std::string& entity, const std::string& resource) {
  return {Code::kInvalidArgument,
          fmt::format("{}/{}: no limits are set for the entity, the resource or the system; set "
                      "some at one of these levels",
                      entity, resource)};
}

}  // namespace

std::vector<Level> LevelsOf(const std::vector<std::string>& chain, const std::string& resource) {
  std::vector<Level> levels;
  levels.reserve(2 * chain.size() + 2);
  for (const std::string& entity : chain) {
    levels.push_back(Level::Entity(entity, resource));
    levels.push_back(Level::EntityDefault(entity));
  }
  levels.push_back(Level::Resource(resource));
  levels.push_back(Level::System());
  return levels;
}

Result<Resolved> ChooseLimits(const std::vector<std::string>& chain, const std::string& resource,
                              const LimitsByLevel& found) {
  const auto own = LevelOfMember(found, 0);
  if (!own) return Fail(NoLimits(chain.front(), resource));
  const std::vector<Level> levels = LevelsOf(chain, resource);
  Resolved resolved{
      .targets = {}, .kinds = {}, .source = levels[*own], .began = {}, .on_unavailable = {}};
  for (std::size_t i = 0; i < chain.size(); ++i) {
    const auto level = LevelOfMember(found, i);
    if (!level) continue;
    resolved.targets.push_back(
        TargetOf({.entity = chain[i], .resource = resource}, *found[*level]));
    resolved.kinds.push_back(levels[*level].kind);
  }
  if (found.back()) resolved.on_unavailable = found.back()->on_unavailable;
  return resolved;
}

AffectedPairs PairsAffectedBetween(const Resolution& old, const Resolution& now) {
  AffectedPairs affected;
  const auto [common_end, now_common_end] = std::ranges::mismatch(old.chain, now.chain);
  if (common_end != old.chain.end() || now_common_end != now.chain.end()) {
    affected.entities.push_back(*std::prev(common_end));  // its parent or `cascade` changed
  }
  for (auto entity = old.chain.begin(); entity != common_end; ++entity) {
    const EntityTarget before = TargetOfEntity(old, *entity);
    const EntityTarget after = TargetOfEntity(now, *entity);
    if (before == after) continue;
    if (before.is_shared && after.is_shared) {
      affected.all = true;
    } else {
      affected.entities.push_back(*entity);
    }
  }
  return affected;
}

AffectedPairs PairsAffectedBy(std::span<const ConfigChange> changes) {
  AffectedPairs affected;
  const auto add_pairs_of = [&](const Level& level) {
    if (level.entity.empty()) {
      affected.all = true;
    } else {
      affected.entities.push_back(level.entity);
    }
  };
  for (const ConfigChange& change : changes) {
    if (const auto* put = std::get_if<PutLimits>(&change)) add_pairs_of(put->level);
    if (const auto* deleted = std::get_if<DeleteLimits>(&change)) add_pairs_of(deleted->level);
    if (const auto* created = std::get_if<CreateEntity>(&change)) {
      affected.entities.push_back(created->record.entity.id);
    }
    if (const auto* put = std::get_if<PutEntity>(&change)) {
      affected.entities.push_back(put->record.entity.id);
    }
    if (const auto* deleted = std::get_if<DeleteEntity>(&change))
      affected.entities.push_back(deleted->id);
  }
  std::ranges::sort(affected.entities);
  const auto duplicates = std::ranges::unique(affected.entities);
  affected.entities.erase(duplicates.begin(), duplicates.end());
  if (affected.entities.size() > kMaxEntities) affected.all = true;
  return affected;
}

}  // namespace weir
