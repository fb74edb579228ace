// The parts of a group (GroupRequest) under their limits.
#pragma once

#include <absl/container/inlined_vector.h>

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weir/base/done.h"
#include "weir/limiter/charges/charges.h"
#include "weir/limiter/group/group_request.h"
#include "weir/limiter/group/pairs_resolution.h"
#include "weir/limiter/resolution/resolver.h"

namespace weir {

/// One part. It has a given target, or limits that were resolved.
struct GroupPart {
  Amounts amounts;
  TargetPtr given{};
  ResolvedPtr resolved{};  ///< null if a target is given, or until the limits have been read
  std::size_t pair = 0;    ///< while the limits are read: the index in PairResults

  bool is_resolved() const { return given != nullptr || resolved != nullptr; }
};
using GroupParts = absl::InlinedVector<GroupPart, 1>;

/// The state of a group, in addition to that of every request.
struct PendingGroup {
  Done<GroupOutcome> done;
  GroupParts parts{};
  std::vector<PartTargets> targets{};  ///< set by ChooseTargets
};

/// Returns kInvalidArgument unless there are 1 to kMaxParts parts.
[[nodiscard]] Status CheckCount(std::span<const AcquirePart> parts);

/// Returns the parts with their limits from the cache. Adds the pairs that must be read to
/// `missing`, each once.
GroupParts FindParts(Resolver& resolver, std::span<const AcquirePart> parts, PairResults& missing);
/// Removes the limits of the parts that were resolved, and returns their pairs, each once.
PairResults PairsToRenew(GroupParts& parts);

/// A pair whose limits could not be read.
struct PairError {
  std::string entity;
  std::string resource;
  Error error;  ///< if there are several parts, the message names the first one on this pair
};
/// Sets the limits of the parts that are not resolved. If the limits of a pair could not be read,
/// returns its error and sets nothing; errors for which IsUnavailable is false are preferred.
std::optional<PairError> TakeResults(GroupParts& parts, PairResults pairs);

/// Sets `targets` to the buckets of each part: its own, and the ancestors that have one of its
/// limits. Targets of the same bucket are replaced by one of them, the one whose limits were read
/// last. Fails with kInvalidArgument if they differ and one of them is given.
/// REQUIRES: all parts are resolved.
[[nodiscard]] Status ChooseTargets(const GroupParts& parts, std::vector<PartTargets>& targets);

/// Returns views of the parts, with the targets that ChooseTargets set.
absl::InlinedVector<PartView, 2> ViewsOf(const GroupParts& parts,
                                         std::span<const PartTargets> targets);

}  // namespace weir
