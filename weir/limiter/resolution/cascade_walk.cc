#include "weir/limiter/resolution/cascade_walk.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

namespace weir {
namespace {

constexpr std::ptrdiff_t kLevelsOfMember = 2;

Error BrokenChain(const std::vector<std::string>& chain, const std::string& next) {
  const bool cycle = std::ranges::find(chain, next) != chain.end();
  const std::string path = fmt::format("{} > {}", fmt::join(chain, " > "), next);
  return {Code::kFailedPrecondition,
          cycle ? fmt::format("the parents of {} are a cycle ({}); change the parent of one",
                              chain.front(), path)
                : fmt::format("{} has too many parents ({}); a request charges at most {} entities",
                              chain.front(), path, kMaxCascade)};
}

}  // namespace

CascadeWalk::CascadeWalk(std::string_view entity, std::string_view resource)
    : chain_{std::string(entity)}, resource_(resource) {
  chain_.reserve(kMaxCascade);  // its strings are viewed while it grows
}

std::vector<Level> CascadeWalk::levels() const {
  std::vector<Level> levels = LevelsOf({chain_.back()}, resource_);
  if (chain_.size() > 1) levels.erase(levels.begin() + kLevelsOfMember, levels.end());
  return levels;
}

Result<CascadeWalk::Next> CascadeWalk::Take(const std::optional<EntityRecord>& record,
                                            LimitsByLevel limits) {
  // The levels of the resource and of the system, read with the first member, stay at the end.
  const auto place = found_.begin() + kLevelsOfMember * (std::ssize(chain_) - 1);
  found_.insert(place, std::make_move_iterator(limits.begin()),
                std::make_move_iterator(limits.end()));
  if (!record || !record->entity.cascade || !record->entity.parent) return Next::kComplete;
  const std::string& parent = *record->entity.parent;
  if (chain_.size() == kMaxCascade || std::ranges::find(chain_, parent) != chain_.end()) {
    return Fail(BrokenChain(chain_, parent));
  }
  chain_.push_back(parent);
  return Next::kParentIsNext;
}

}  // namespace weir
