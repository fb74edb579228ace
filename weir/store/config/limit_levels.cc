#include "weir/store/config/limit_levels.h"

#include <utility>

#include "weir/model/reserved_allowance.h"

namespace weir {

std::array<Level, 4> LevelsOfPair(const std::string& entity, const std::string& resource) {
  return {Level::Entity(entity, resource), Level::EntityDefault(entity), Level::Resource(resource),
          Level::System()};
}

std::optional<std::size_t> FirstWithLimits(const LimitsByLevel& found,
                                           std::initializer_list<std::size_t> indexes) {
  for (const std::size_t at : indexes) {
    if (found[at] && !found[at]->limits.empty()) return at;
  }
  return std::nullopt;
}

TargetPtr TargetOf(BucketKey key, const LevelLimits& set) {
  return MakeTarget(std::move(key), ReserveAllowance(set.limits));
}

}  // namespace weir
