#include "weir/limiter/limits_renewal.h"

#include <algorithm>
#include <utility>

#include "weir/limiter/acquire_attempt.h"
#include "weir/limiter/charges/charges.h"

namespace weir {
namespace {

// Limits that changed once need one renewal. Further renewals mean that other processes change the
// limits repeatedly.
constexpr int kMaxRenewals = 3;
constexpr milliseconds kContendedWait{100};

// Returns whether the new result has the same limits for this bucket.
bool HasSameLimits(const Target& target, const Resolved& renewed) {
  return std::ranges::any_of(renewed.targets, [&](const TargetPtr& one) {
    return one->key == target.key && SameLimits(*one, target);
  });
}

bool HasChanged(std::span<const TargetPtr> before, const Resolved& renewed) {
  return !std::ranges::all_of(
      before, [&](const TargetPtr& target) { return HasSameLimits(*target, renewed); });
}

// Returns the amounts that a request named. Those of the pair's own bucket include each amount that
// is not 0, because a request that names another limit fails.
Amounts NamedAmounts(const PendingAcquire& call) {
  if (call.wait != nullptr) return call.wait->amounts;
  Amounts amounts;
  const Charge& own = call.charges.front();  // if it is not the pair's own, all amounts are 0
  for (std::size_t i = 0; i < own.amounts.size(); ++i) {
    if (own.amounts[i] == 0) continue;
    amounts.push_back({own.target->limits[i].name, Tokens::Milli(own.amounts[i])});
  }
  for (const std::string& limit : call.looked_at) amounts.push_back({limit, 0});
  return amounts;
}

// Limits that the request itself sets cannot be resolved again.
bool CanRenew(const PendingAcquire& call) {
  if (call.group.has_value()) {
    return std::ranges::any_of(call.group->parts,
                               [](const GroupPart& part) { return part.resolved != nullptr; });
  }
  return call.own()->source != LimitSource::kOverride;
}

}  // namespace

void LimitsRenewal::RenewCall(CallPtr call) {
  outdated_.Add();
  if (!CanRenew(*call) || call->renewals++ >= kMaxRenewals) {
    return attempt_.OnRefusal(std::move(call),
                              {.retry_after = kContendedWait, .limits = {}, .contended = true});
  }
  if (call->group.has_value()) return RenewGroup(std::move(call));
  const Target& own = *call->own();
  const Deadline deadline = call->deadline;
  const std::string_view entity = own.key.entity;  // the call keeps the target alive
  const std::string_view resource = own.key.resource;
  resolver_.Renew(entity, resource, deadline, [this, call = std::move(call)](auto result) mutable {
    TryRenewed(std::move(call), std::move(result));
  });
}

void LimitsRenewal::TryRenewed(CallPtr call, Result<ResolvedPtr> resolved) {
  if (!resolved) return end_.OnStoreError(std::move(call), std::move(resolved.error()));
  const Resolved& renewed = **resolved;
  std::vector<TargetPtr> outdated = TargetsOf(call->charges);
  if (!call->is_own_charged) outdated.insert(outdated.begin(), call->own());
  LogRenewal(outdated, renewed);
  const Amounts amounts = NamedAmounts(*call);
  call = end_.SetCharges(std::move(call), PartOf(renewed, amounts));
  if (call == nullptr) return;
  call->policy = renewed.on_unavailable;
  if (call->wait != nullptr) call->wait->resolved = std::move(*resolved);
  attempt_.Try(std::move(call));
}

void LimitsRenewal::RenewGroup(CallPtr call) {
  const Deadline deadline = call->deadline;
  PairResults pairs = PairsToRenew(call->group->parts);
  ResolvePairs(resolver_, std::move(pairs), PairReads::kRenewed, deadline,
               [this, call = std::move(call)](PairResults renewed) mutable {
                 TryRenewedGroup(std::move(call), std::move(renewed));
               });
}

// The store does not say which bucket has other limits, so one event is logged: for a pair whose
// limits have changed, or for any pair if none has changed.
void LimitsRenewal::TryRenewedGroup(CallPtr call, PairResults pairs) {
  PendingGroup& group = *call->group;
  call->policy.reset();  // the one that was read last applies
  if (auto failed = TakeResults(group.parts, std::move(pairs))) {
    return end_.OnStoreError(std::move(call), std::move(failed->error), failed->entity,
                             failed->resource);
  }
  std::size_t logged = group.parts.size();
  for (std::size_t i = group.parts.size(); i-- > 0;) {
    const ResolvedPtr& renewed = group.parts[i].resolved;
    if (renewed == nullptr) continue;
    if (logged == group.parts.size() || HasChanged(group.targets[i], *renewed)) logged = i;
  }
  LogRenewal(group.targets[logged], *group.parts[logged].resolved);
  call = end_.SetGroupCharges(std::move(call));
  if (call != nullptr) attempt_.Try(std::move(call));
}

// No call waits for the result: the next request uses the limits that are cached by then.
void LimitsRenewal::RenewTargets(std::vector<TargetPtr> targets, Deadline deadline) {
  outdated_.Add();
  const TargetPtr own = targets.front();
  if (own->source == LimitSource::kOverride) return;
  resolver_.Renew(own->key.entity, own->key.resource, deadline,
                  [self = std::shared_ptr<LimitsRenewal>(owner_.lock(), this),
                   targets = std::move(targets)](auto renewed) {
                    if (renewed) self->LogRenewal(targets, **renewed);
                  });
}

void LimitsRenewal::LogRenewal(std::span<const TargetPtr> outdated, const Resolved& renewed) {
  log_.LogRenewed(outdated.front()->key, HasChanged(outdated, renewed));
}

}  // namespace weir
