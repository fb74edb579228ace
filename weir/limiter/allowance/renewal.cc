// Renewal of outdated limits. If a bucket has other limits than those that were resolved, they are
// resolved again, without the cache, and the store is called again. Mechanism:
// docs/design/limiter.md.
//
//   Answered: outdated --> Renew(call) --> Resolver::Renew --> TryRenewed --> Try
//                            |
//                            +--> after kMostRenewals: refused as contended
#include <algorithm>
#include <utility>

#include "weir/limiter/charges.h"
#include "weir/limiter/limiter_state.h"

namespace weir {
namespace {

// Limits that changed once need one renewal. More mean that other processes change them repeatedly.
constexpr int kMostRenewals = 3;
constexpr milliseconds kContendedWait{100};

// Returns whether the new result has the same limits for this bucket.
bool Holds(const Target& target, const Resolved& now) {
  return std::ranges::any_of(now.targets, [&](const TargetPtr& one) {
    return one->key == target.key && one->limits == target.limits;
  });
}

bool Names(const Target& target, const std::string& limit) {
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
    const bool is_asked = is_look ? Names(now, name) : !is_zero(own.amounts[i]);
    if (is_asked) amounts.push_back({name, Tokens::Milli(own.amounts[i])});
  }
  return amounts;
}

}  // namespace

void Limiter::State::Renew(CallPtr call) {
  outdated_.Add();
  const Target& own = *call->charges.front().target;
  // Limits that the request has itself cannot be resolved again.
  if (own.source == LimitSource::kOverride || call->renewals++ >= kMostRenewals) {
    return Refused(std::move(call),
                   {.retry_after = kContendedWait, .limits = {}, .contended = true});
  }
  const Deadline deadline = call->deadline;
  const std::string_view entity = own.key.entity;  // the call keeps the target alive
  const std::string_view resource = own.key.resource;
  resolver_.Renew(entity, resource, deadline, [this, call = std::move(call)](auto now) mutable {
    TryRenewed(std::move(call), std::move(now));
  });
}

void Limiter::State::TryRenewed(CallPtr call, Result<ResolvedPtr> resolved) {
  if (!resolved) return Unanswered(std::move(call), std::move(resolved.error()));
  const Resolved& now = **resolved;
  Note(TargetsOf(call->charges), now);
  Patience* const patience = call->patience.get();
  auto charges = MakeCharges(now, patience != nullptr
                                      ? patience->amounts
                                      : AmountsOf(call->charges.front(), *now.targets.front()));
  if (!charges) return Fail(std::move(call), std::move(charges.error()));
  call->charges = std::move(*charges);
  if (patience != nullptr) patience->resolved = std::move(*resolved);
  Try(std::move(call));
}

// No call waits for the result: the next request uses the limits that are cached by then.
void Limiter::State::Renew(std::vector<TargetPtr> targets, Deadline deadline) {
  outdated_.Add();
  const TargetPtr own = targets.front();
  if (own->source == LimitSource::kOverride) return;
  resolver_.Renew(own->key.entity, own->key.resource, deadline,
                  [state = shared_from_this(), targets = std::move(targets)](auto now) {
                    if (now) state->Note(targets, **now);
                  });
}

void Limiter::State::Note(std::span<const TargetPtr> outdated, const Resolved& now) {
  const bool changed =
      !std::ranges::all_of(outdated, [&](const TargetPtr& target) { return Holds(*target, now); });
  outdated_log_.Renewed(outdated.front()->key, changed);
}

}  // namespace weir
