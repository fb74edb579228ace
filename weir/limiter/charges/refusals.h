// Refusals that are decided without a store: by limits that block, and behind other requests.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "weir/base/time.h"
#include "weir/limiter/charges/charges.h"
#include "weir/model/tokens.h"
#include "weir/store/bucket/bucket_store.h"
#include "weir/store/bucket/charge.h"
#include "weir/store/bucket/decision.h"

namespace weir {

/// Returns the statuses of the limits that block in these targets, in the order of the targets.
std::vector<LimitStatus> BlockedLimits(std::span<const TargetPtr> targets, const Amounts& amounts);
/// Returns the refusal by limits that block; nullopt if the amounts of all such limits are 0. The
/// refusal has one status for each limit that blocks, with the sum of its amounts.
std::optional<Decision> BlockedRefusal(std::span<const PartView> parts);

/// Returns the index of the charge whose bucket has the longest wait. REQUIRES: `refusal` is a
/// refusal of these charges.
std::size_t LongestRefusal(std::span<const Charge> charges, const Decision& refusal);

/// Returns a refusal that was decided here and not by the store. Its statuses show the buckets at
/// `now`; its wait is at least `min_wait`. `records[i]` is the bucket of `charges[i]` as read, or
/// nullopt for a bucket that does not exist, which is full.
Decision RefusalOf(std::span<const Charge> charges,
                   std::span<const std::optional<BucketRecord>> records, UnixMillis now,
                   milliseconds min_wait);

}  // namespace weir
