// A bucket has other limits than those that were resolved: they are resolved again, without a
// cache, and the store is asked again. Mechanism: docs/design/limiter.md.
#include <algorithm>
#include <utility>

#include "weir/limiter/charges.h"
#include "weir/limiter/state.h"

namespace weir {
namespace {

// Limits that changed once need one; more mean that others change them all the time.
constexpr int kMostRenewals = 3;
constexpr milliseconds kContendedWait{100};

bool Holds(const Target& target, const Resolved& now) {
  return std::ranges::any_of(now.targets, [&](const TargetPtr& one) {
    return one->key == target.key && one->limits == target.limits;
  });
}

}  // namespace

void Limiter::State::Renew(CallPtr call) {
  outdated_.Add();
  const Target& own = *call->charges.front().target;
  // Limits of a request are what the request says they are.
  if (own.source == LimitSource::kOverride || call->renewals++ >= kMostRenewals) {
    return Refused(std::move(call),
                   {.retry_after = kContendedWait, .limits = {}, .contended = true});
  }
  const Deadline deadline = call->deadline;
  const std::string_view entity = own.key.entity;  // of a target that the call keeps
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
  auto charges =
      patience != nullptr ? MakeCharges(now, patience->amounts) : RemakeCharges(call->charges, now);
  if (!charges) return Fail(std::move(call), std::move(charges.error()));
  call->charges = std::move(*charges);
  if (patience != nullptr) patience->resolved = std::move(*resolved);
  Try(std::move(call));
}

// The next request comes with what is remembered by then.
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
