#include "weir/service/descriptor_status.h"

#include <algorithm>
#include <utility>

#include "weir/bucket/bucket.h"

namespace weir::service {
namespace {

const LimitStatus* FindStatus(const Decision& decision, const BucketKey& key,
                              const std::string& limit) {
  for (const LimitStatus& status : decision.limits) {
    if (status.limit == limit && status.entity == key.entity && status.resource == key.resource) {
      return &status;
    }
  }
  return nullptr;
}

// Returns the time until `tokens` are available if `left` are available now. REQUIRES: tokens <=
// the capacity.
milliseconds TimeUntil(std::int64_t tokens, std::int64_t left, const Quota& quota) {
  return RetryAfter(Meter{.quota = quota, .tokens = left}, tokens);
}

bool IsWorse(const DescriptorState& a, const DescriptorState& b) {
  if (a.is_over != b.is_over) return a.is_over;
  if (!a.is_over) return a.remaining < b.remaining;
  if (a.reset.has_value() != b.reset.has_value()) return !a.reset.has_value();
  return a.reset > b.reset;
}

/// Finds the worst state of the limits of one descriptor.
class Judge {
 public:
  Judge(const PlannedDescriptor& planned, const Decision& decision)
      : planned_(planned), decision_(decision) {}

  void Add(const Target& bucket) {
    for (const Amount& amount : planned_.amounts) {
      // A limit that blocks refuses every token, and an amount of 0 takes none.
      if (amount.tokens.milli() > 0 && IsBlocked(bucket, amount.limit)) {
        Keep({.limit = {.name = amount.limit}, .is_over = true});
      }
      const auto limit = std::ranges::find(bucket.limits, amount.limit, &Limit::name);
      if (limit == bucket.limits.end()) continue;
      const LimitStatus* status = FindStatus(decision_, bucket.key, amount.limit);
      if (status != nullptr) Keep(Judged(*limit, *status, amount.tokens.milli()));
    }
  }
  std::optional<DescriptorState> worst() && { return std::move(worst_); }

 private:
  DescriptorState Judged(const Limit& limit, const LimitStatus& status, std::int64_t hits) const {
    const std::int64_t taken = decision_.admitted ? status.requested : 0;
    const std::int64_t left = status.available - taken;
    const bool is_look = planned_.action == PlannedDescriptor::Action::kLook;
    DescriptorState state{.limit = limit, .remaining = std::max<std::int64_t>(left, 0)};
    // A limit of which a hit takes nothing admits it, even if it is in debt.
    state.is_over = is_look ? hits > 0 && left < hits : status.exceeded;
    if (!state.is_over) {
      state.reset = TimeUntil(limit.quota.capacity, left, limit.quota);
    } else if (is_look) {
      if (hits <= limit.quota.capacity) state.reset = TimeUntil(hits, left, limit.quota);
    } else if (status.retry_after < kNeverAdmitted) {
      state.reset = status.retry_after;
    }
    return state;
  }

  void Keep(DescriptorState state) {
    if (!worst_ || IsWorse(state, *worst_)) worst_ = std::move(state);
  }

  const PlannedDescriptor& planned_;
  const Decision& decision_;
  std::optional<DescriptorState> worst_;
};

}  // namespace

std::optional<DescriptorState> StateOf(const PlannedDescriptor& planned, const PartTargets& buckets,
                                       const Decision& decision) {
  Judge judge(planned, decision);
  for (const TargetPtr& bucket : buckets) judge.Add(*bucket);
  return std::move(judge).worst();
}

}  // namespace weir::service
