// The state of a descriptor's limits after a decision.
#pragma once

#include <cstdint>
#include <optional>

#include "weir/limiter/group/group_request.h"
#include "weir/model/limit.h"
#include "weir/service/descriptor_plan.h"

namespace weir::service {

/// The limit of a descriptor that leaves the least: the one that refused it for the longest time,
/// or the one with the fewest tokens left.
struct DescriptorState {
  Limit limit;
  bool is_over = false;
  std::int64_t remaining = 0;  ///< millitokens, after the decision; not negative
  /// If the descriptor is over its limit, the time until this request would pass, else until the
  /// limit is full. Nothing if it never passes.
  std::optional<milliseconds> reset;
};

/// Returns the state of a descriptor that was part of a group, or nothing if the decision has no
/// statuses for it. `buckets` are those of its part. A look is over its limit if less than its
/// amounts are there.
std::optional<DescriptorState> StateOf(const PlannedDescriptor& planned, const PartTargets& buckets,
                                       const Decision& decision);

}  // namespace weir::service
