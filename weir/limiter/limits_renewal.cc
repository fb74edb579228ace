#include "weir/limiter/limits_renewal.h"

#include <algorithm>
#include <utility>

#include "weir/limiter/acquire_attempt.h"
#include "weir/limiter/charges.h"

namespace weir {
namespace {

// Limits that changed once need one renewal. More mean that other processes change them repeatedly.
constexpr int kMostRenewals = 3;
constexpr milliseconds kContendedWait{100};

// Returns whether the new result has the same limits for this bucket.
bool HasSameLimits(const Target& target, const Resolved& now) {
  return std::ranges::any_of(now.targets, [&](const TargetPtr& one) {
    return one->key == target.key && one->limits == target.limits;
  });
}

bool HasLimit(const Target& target, const std::string& limit) {
  return std::ranges::find(target.limits, limit, &Limit::name) != target.limits.end();
}

// Returns the amounts that a request named, derived from its charge of its own bucket. A limit of
// which it requested 0 tokens is left out, unless all its amounts are 0.
Amounts AmountsOf(const Charge& own, const Target& now) {
  const auto is_zero = [](std::int64_t amount) { return amount == 0; };
  const bool is_look = std::ranges::all_of(own.amounts, is_zero);
  Amounts amounts;
  for (std::size_t i = 0; i < own.amounts.size(); ++i) {
    const std::string& name = own.target->limits[i].name;
    const bool is_asked = is_look ? HasLimit(now, name) : !is_zero(own.amounts[i]);
    if (is_asked) amounts.push_back({name, Tokens::Milli(own.amounts[i])});
  }
  return amounts;
}

}  // namespace

void LimitsRenewal::RenewCall(CallPtr call) {
  outdated_.Add();
  const Target& own = *call->charges.front().target;
  // Limits that the request has itself cannot be resolved again.
  if (own.source == LimitSource::kOverride || call->renewals++ >= kMostRenewals) {
    return attempt_.OnRefusal(std::move(call),
                              {.retry_after = kContendedWait, .limits = {}, .contended = true});
  }
  const Deadline deadline = call->deadline;
  const std::string_view entity = own.key.entity;  // the call keeps the target alive
  const std::string_view resource = own.key.resource;
  resolver_.Renew(entity, resource, deadline, [this, call = std::move(call)](auto now) mutable {
    TryRenewed(std::move(call), std::move(now));
  });
}

void LimitsRenewal::TryRenewed(CallPtr call, Result<ResolvedPtr> resolved) {
  if (!resolved) return end_.OnStoreError(std::move(call), std::move(resolved.error()));
  const Resolved& now = **resolved;
  LogRenewal(TargetsOf(call->charges), now);
  WaitState* const wait = call->wait.get();
  auto charges =
      MakeCharges(now, wait != nullptr ? wait->amounts
                                       : AmountsOf(call->charges.front(), *now.targets.front()));
  if (!charges) return end_.Fail(std::move(call), std::move(charges.error()));
  call->charges = std::move(*charges);
  if (wait != nullptr) wait->resolved = std::move(*resolved);
  attempt_.Try(std::move(call));
}

// No call waits for the result: the next request uses the limits that are cached by then.
void LimitsRenewal::RenewTargets(std::vector<TargetPtr> targets, Deadline deadline) {
  outdated_.Add();
  const TargetPtr own = targets.front();
  if (own->source == LimitSource::kOverride) return;
  resolver_.Renew(own->key.entity, own->key.resource, deadline,
                  [self = std::shared_ptr<LimitsRenewal>(owner_.lock(), this),
                   targets = std::move(targets)](auto now) {
                    if (now) self->LogRenewal(targets, **now);
                  });
}

void LimitsRenewal::LogRenewal(std::span<const TargetPtr> outdated, const Resolved& now) {
  const bool changed = !std::ranges::all_of(
      outdated, [&](const TargetPtr& target) { return HasSameLimits(*target, now); });
  log_.LogRenewed(outdated.front()->key, changed);
}

}  // namespace weir
