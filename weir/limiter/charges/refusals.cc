#include "weir/limiter/charges/refusals.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "weir/base/bucket_time.h"
#include "weir/limiter/charges/amount_checks.h"
#include "weir/store/bucket/bucket_state.h"

namespace weir {
namespace {

// Adds the status of a limit that blocks, or merges it with the status that another part has added
// for the same limit.
void AddStatus(std::vector<LimitStatus>& statuses, LimitStatus&& status) {
  for (LimitStatus& other : statuses) {
    if (other.entity != status.entity || other.resource != status.resource ||
        other.limit != status.limit) {
      continue;
    }
    other.requested = SaturatingAdd(other.requested, status.requested);
    other.exceeded |= status.exceeded;
    other.retry_after = std::max(other.retry_after, status.retry_after);
    return;
  }
  statuses.push_back(std::move(status));
}

// Returns the time by which `now` is behind the meter's time; nothing is refilled until `now` has
// caught up. A meter that is too far ahead adds no wait: the next request sets it to `now` (in a
// table only after a minute, docs/design/time.md).
milliseconds BehindOf(const MeterView& view) {
  return view.behind > kMaxAhead ? milliseconds(0) : view.behind;
}

}  // namespace

std::vector<LimitStatus> BlockedLimits(std::span<const TargetPtr> targets, const Amounts& amounts) {
  std::vector<LimitStatus> statuses;
  for (const TargetPtr& target : targets) {
    for (const std::string& name : target->blocked) {
      const auto named = std::ranges::find(amounts, name, &Amount::limit);
      const std::int64_t requested = named == amounts.end() ? 0 : named->tokens.milli();
      statuses.push_back({.entity = target->key.entity,
                          .resource = target->key.resource,
                          .limit = name,
                          .requested = requested,
                          .exceeded = requested > 0,
                          .retry_after = requested > 0 ? kNeverAdmitted : milliseconds(0)});
    }
  }
  return statuses;
}

std::optional<Decision> BlockedRefusal(std::span<const PartView> parts) {
  Decision refusal{.retry_after = kNeverAdmitted, .limits = {}};
  for (const PartView& part : parts) {
    const auto none_blocks = [](const TargetPtr& target) { return target->blocked.empty(); };
    if (std::ranges::all_of(part.targets, none_blocks)) continue;
    for (LimitStatus& status : BlockedLimits(part.targets, part.amounts))
      AddStatus(refusal.limits, std::move(status));
  }
  if (std::ranges::none_of(refusal.limits, &LimitStatus::exceeded)) return std::nullopt;
  return refusal;
}

std::size_t LongestRefusal(std::span<const Charge> charges, const Decision& refusal) {
  std::size_t longest = 0;
  milliseconds wait{-1};
  auto status = refusal.limits.begin();
  for (std::size_t i = 0; i < charges.size(); ++i) {
    for (std::size_t j = 0; j < charges[i].amounts.size(); ++j) {
      if (status == refusal.limits.end()) return longest;
      if (status->retry_after > wait) {
        wait = status->retry_after;
        longest = i;
      }
      ++status;
    }
  }
  return longest;
}

Decision RefusalOf(std::span<const Charge> charges,
                   std::span<const std::optional<BucketRecord>> records, UnixMillis now,
                   milliseconds min_wait) {
  Decision refusal{
      .admitted = false, .retry_after = std::max(min_wait, milliseconds(1)), .limits = {}};
  for (std::size_t i = 0; i < charges.size(); ++i) {
    const Target& target = *charges[i].target;
    for (std::size_t j = 0; j < target.limits.size(); ++j) {
      const Limit& limit = target.limits[j];
      const std::int64_t amount = charges[i].amounts[j];
      const BucketRecord* record = records[i] ? &*records[i] : nullptr;
      const MeterView view = ViewOf(record, target, j, now);
      const Meter& meter = view.meter;
      milliseconds wait = RetryAfter(meter, amount);
      if (wait > milliseconds(0)) wait += BehindOf(view);
      if (amount > limit.quota.capacity) wait = kNeverAdmitted;
      refusal.retry_after = std::max(refusal.retry_after, wait);
      refusal.limits.push_back({.entity = target.key.entity,
                                .resource = target.key.resource,
                                .limit = limit.name,
                                .capacity = limit.quota.capacity,
                                .available = meter.tokens,
                                .requested = amount,
                                .exceeded = wait > milliseconds(0),
                                .retry_after = wait});
    }
  }
  return refusal;
}

}  // namespace weir
