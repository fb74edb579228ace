#include "weir/limiter/group/group_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "weir/limiter/fail_open.h"

namespace weir {
namespace {

// Returns the index of the pair; adds it if necessary.
std::size_t IndexOfPair(PairResults& pairs, std::string_view entity, std::string_view resource) {
  const auto found = std::ranges::find_if(pairs, [&](const PairResult& pair) {
    return pair.entity == entity && pair.resource == resource;
  });
  const auto index = static_cast<std::size_t>(found - pairs.begin());
  if (found == pairs.end())
    pairs.push_back({.entity = std::string(entity), .resource = std::string(resource)});
  return index;
}

// Returns the pair whose error is reported for the whole group; `pairs.end()` if no pair has one.
PairResults::iterator FindError(PairResults& pairs) {
  const auto is_final = [](const PairResult& pair) {
    return !pair.found && !IsUnavailable(pair.found.error().code);
  };
  const auto found = std::ranges::find_if(pairs, is_final);
  if (found != pairs.end()) return found;
  return std::ranges::find_if(pairs, [](const PairResult& pair) { return !pair.found; });
}

constexpr Instant kCurrent{INT64_MAX};

Instant ResolvedAt(const GroupPart& part) {
  return part.given != nullptr ? kCurrent : part.resolved->began;
}

PartTargets TargetsOf(const GroupPart& part) {
  PartTargets targets;
  if (part.given != nullptr) {
    targets.push_back(part.given);
    return targets;
  }
  const auto& all = part.resolved->targets;
  targets.push_back(all.front());
  for (const TargetPtr& ancestor : std::span(all).subspan(1)) {
    if (HasAnyOf(*ancestor, part.amounts)) targets.push_back(ancestor);
  }
  return targets;
}

// The target that is charged for one bucket, and when its limits were read.
struct Chosen {
  TargetPtr target;
  Instant resolved_at;
};

Error DifferentLimits(const Target& target) {
  return {Code::kInvalidArgument,
          fmt::format("{}/{}: parts of one request have different limits for this bucket",
                      target.key.entity, target.key.resource)};
}

// Adds the target of a bucket to `chosen`. If the bucket has a target there, keeps the one whose
// limits were read last; fails if the two differ and one of them is given.
Status Choose(std::vector<Chosen>& chosen, const TargetPtr& target, Instant resolved_at) {
  const auto same = [&](const Chosen& one) { return SameBucket(*one.target, *target); };
  const auto found = std::ranges::find_if(chosen, same);
  if (found == chosen.end()) {
    chosen.push_back({target, resolved_at});
    return {};
  }
  const bool differs = found->target != target && (!SameLimits(*found->target, *target) ||
                                                   found->target->source != target->source);
  const bool any_given = found->resolved_at == kCurrent || resolved_at == kCurrent;
  if (differs && any_given) return Fail(DifferentLimits(*target));
  if (resolved_at <= found->resolved_at) return {};
  *found = {target, resolved_at};
  return {};
}

}  // namespace

Status CheckCount(std::span<const AcquirePart> parts) {
  if (!parts.empty() && parts.size() <= kMaxParts) return {};
  return Fail(Code::kInvalidArgument,
              fmt::format("a request has {} parts; allowed are 1 to {}", parts.size(), kMaxParts));
}

GroupParts FindParts(Resolver& resolver, std::span<const AcquirePart> parts, PairResults& missing) {
  GroupParts found;
  found.reserve(parts.size());
  for (const AcquirePart& part : parts) {
    GroupPart& one = found.emplace_back(GroupPart{.amounts = part.amounts, .given = part.target});
    if (one.given != nullptr) continue;
    one.resolved = resolver.Find(part.entity, part.resource);
    if (one.resolved == nullptr) one.pair = IndexOfPair(missing, part.entity, part.resource);
  }
  return found;
}

PairResults PairsToRenew(GroupParts& parts) {
  PairResults pairs;
  for (GroupPart& part : parts) {
    if (part.resolved == nullptr) continue;
    const BucketKey& own = part.resolved->targets.front()->key;
    part.pair = IndexOfPair(pairs, own.entity, own.resource);
    part.resolved = nullptr;
  }
  return pairs;
}

std::optional<PairError> TakeResults(GroupParts& parts, PairResults pairs) {
  if (const auto failed = FindError(pairs); failed != pairs.end()) {
    const auto pair = static_cast<std::size_t>(failed - pairs.begin());
    const auto part = std::ranges::find_if(
        parts, [&](const GroupPart& one) { return !one.is_resolved() && one.pair == pair; });
    Error error =
        NamePart(std::move(failed->found.error()), static_cast<std::size_t>(part - parts.begin()),
                 parts.size(), {.entity = failed->entity, .resource = failed->resource});
    return PairError{std::move(failed->entity), std::move(failed->resource), std::move(error)};
  }
  for (GroupPart& part : parts) {
    if (!part.is_resolved()) part.resolved = *pairs[part.pair].found;
  }
  return std::nullopt;
}

Status ChooseTargets(const GroupParts& parts, std::vector<PartTargets>& targets) {
  targets.clear();
  targets.reserve(parts.size());
  for (const GroupPart& part : parts) targets.push_back(TargetsOf(part));
  if (parts.size() == 1) return {};
  std::vector<Chosen> chosen;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    for (const TargetPtr& target : targets[i])
      WEIR_RETURN_IF_ERROR(Choose(chosen, target, ResolvedAt(parts[i])));
  }
  for (PartTargets& part_targets : targets) {
    for (TargetPtr& target : part_targets) {
      const auto same = [&](const Chosen& one) { return SameBucket(*one.target, *target); };
      target = std::ranges::find_if(chosen, same)->target;
    }
  }
  return {};
}

absl::InlinedVector<PartView, 2> ViewsOf(const GroupParts& parts,
                                         std::span<const PartTargets> targets) {
  absl::InlinedVector<PartView, 2> views;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    views.push_back({.targets = targets[i],
                     .amounts = parts[i].amounts,
                     .resolved_at = ResolvedAt(parts[i]),
                     .may_exceed_capacity = true});
  }
  return views;
}

}  // namespace weir
