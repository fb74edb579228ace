#include "weir/limiter/group/group_requests.h"

#include <memory>
#include <optional>
#include <utility>

namespace weir {
namespace {

// Returns the policy of the system level as the latest read of any part found it, or `by_default`
// if the level sets none. Returns nullopt if no part has read it.
std::optional<OnUnavailable> PolicyOfLimits(const GroupParts& parts, OnUnavailable by_default) {
  const Resolved* last = nullptr;
  for (const GroupPart& part : parts) {
    if (part.resolved == nullptr) continue;
    if (last == nullptr || part.resolved->began > last->began) last = part.resolved.get();
  }
  if (last == nullptr) return std::nullopt;
  return last->on_unavailable.value_or(by_default);
}

}  // namespace

void GroupRequests::Acquire(const GroupRequest& request, Deadline deadline,
                            Done<GroupOutcome> done) {
  auto call = std::make_unique<PendingAcquire>(Done<Outcome>(), deadline);
  call->own_policy = request.on_unavailable;
  call->group.emplace(std::move(done));
  if (const Status valid = CheckCount(request.parts); !valid)
    return end_.Fail(std::move(call), valid.error());
  PairResults missing;
  call->group->parts = FindParts(resolver_, request.parts, missing);
  if (missing.empty()) return Start(std::move(call));
  ResolvePairs(resolver_, std::move(missing), PairReads::kCached, deadline,
               [this, call = std::move(call)](PairResults pairs) mutable {
                 auto failed = TakeResults(call->group->parts, std::move(pairs));
                 if (!failed) return Start(std::move(call));
                 end_.OnStoreError(std::move(call), std::move(failed->error), failed->entity,
                                   failed->resource);
               });
}

void GroupRequests::Start(CallPtr call) {
  call = end_.SetGroupCharges(std::move(call));
  if (call == nullptr) return;
  call->policy = PolicyOfLimits(call->group->parts, by_default_);
  attempt_.Enter(std::move(call));
}

}  // namespace weir
