// The state of a descriptor's limits after a decision.
#pragma once

#include <cstdint>
#include <optional>

#include "weir/limiter/group/group_request.h"
#include "weir/model/limit.h"
#include "weir/service/descriptor_plan.h"

namespace weir::service {

/// The most restrictive limit of a descriptor: the limit that refused it for the longest time, or,
/// if no limit refused it, the limit with the fewest tokens left.
struct DescriptorState {
  Limit limit;
  bool is_over = false;
  std::int64_t remaining = 0;  ///< millitokens, after the decision; not negative
  /// If the descriptor is over its limit, the time until this request would pass, else until the
  /// limit is full. Nothing if the request never passes.
  std::optional<milliseconds> reset;
};

/// Returns the state of a descriptor that was part of a group, or nothing if the decision has no
/// statuses for it. `buckets` are those of the descriptor's part. A look is over its limit if
/// less than its amounts are available.
std::optional<DescriptorState> StateOf(const PlannedDescriptor& planned, const PartTargets& buckets,
                                       const Decision& decision);

}  // namespace weir::service
