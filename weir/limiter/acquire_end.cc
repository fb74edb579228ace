#include "weir/limiter/acquire_end.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "weir/limiter/charges/charges.h"
#include "weir/limiter/charges/refusals.h"

namespace weir {

// If the Limiter was closed while a waiting call was trying, the tokens are returned and the caller
// gets kCancelled.
void AcquireEnd::Admit(CallPtr call, Decision decision) {
  for (std::size_t i = 0; i < decision.shards.size(); ++i) {
    call->charges[i].shard = decision.shards[i];
  }
  if (call->limiter_state != nullptr) {
    waiting_.RemoveCall(*call);
    if (waiting_.closed()) {
      adjusts_.GiveBack(call->charges);
      return Abandon(std::move(call));
    }
  }
  charged_.Add();
  decision.maybe_charged_twice |= call->maybe_charged;
  Lease lease = MakeLease(*call);
  call->Complete(Outcome(std::move(decision), std::move(lease)));
}

Lease AcquireEnd::MakeLease(PendingAcquire& call) {
  std::vector<Charge> held = std::move(call.charges);
  std::ranges::move(call.uncharged, std::back_inserter(held));
  // A waiting call may end while the Limiter is being destroyed; OwnedByThread must not be used
  // then.
  return {call.limiter_state != nullptr ? adjusts_.Owned() : adjusts_.OwnedByThread(),
          std::move(held)};
}

void AcquireEnd::Refuse(CallPtr call, Decision decision) {
  waiting_.RemoveCall(*call);
  refused_.Add();
  decision.maybe_charged_twice |= call->maybe_charged;
  call->Complete(Outcome(std::move(decision), Lease()));
}

CallPtr AcquireEnd::SetGroupCharges(CallPtr call) {
  PendingGroup& group = *call->group;
  if (const Status chosen = ChooseTargets(group.parts, group.targets); !chosen) {
    Fail(std::move(call), chosen.error());
    return nullptr;
  }
  return SetCharges(std::move(call), ViewsOf(group.parts, group.targets));
}

CallPtr AcquireEnd::SetCharges(CallPtr call, std::span<const PartView> parts) {
  auto charges = MakeCharges(parts);
  if (!charges) {
    Fail(std::move(call), std::move(charges.error()));
    return nullptr;
  }
  if (auto refusal = BlockedRefusal(parts)) {
    Refuse(std::move(call), *std::move(refusal));
    return nullptr;
  }
  call->charges = *std::move(charges);
  call->uncharged = MakeUncharged(parts, call->charges);
  if (!call->charges.empty()) {
    call->is_own_charged = call->charges.front().target == parts.front().targets.front();
    return call;
  }
  // The request names only limits that block, with an amount of 0 for each.
  waiting_.RemoveCall(*call);
  charged_.Add();
  Lease lease = MakeLease(*call);
  call->Complete(Outcome(Decision{.admitted = true, .limits = {}}, std::move(lease)));
  return nullptr;
}

void AcquireEnd::Fail(CallPtr call, Error error) {
  waiting_.RemoveCall(*call);
  errors_.Add();
  call->Complete(weir::Fail(std::move(error)));
}

void AcquireEnd::Abandon(CallPtr call) {
  Fail(std::move(call),
       {Code::kCancelled, "the limiter was closed while the request waited for tokens"});
}

void AcquireEnd::Stop(CallPtr call) {
  Fail(std::move(call),
       {Code::kCancelled, "the caller requested a stop while the request waited for tokens"});
}

void AcquireEnd::OnStoreError(CallPtr call, Error error) {
  const TargetPtr own = call->own();
  OnStoreError(std::move(call), std::move(error), own->key.entity, own->key.resource);
}

// There is no decision. If the store is unavailable and the policy is to allow, the call is
// admitted without a charge; otherwise it fails.
void AcquireEnd::OnStoreError(CallPtr call, Error error, std::string_view entity,
                              std::string_view resource) {
  if (call->limiter_state != nullptr && waiting_.closed()) return Abandon(std::move(call));
  if (!fail_open_.Admits(*call, error, entity, resource)) {
    return Fail(std::move(call), std::move(error));
  }
  waiting_.RemoveCall(*call);
  call->Complete(
      Outcome(Decision{.admitted = true, .maybe_charged_twice = call->maybe_charged, .limits = {}},
              Lease()));
}

}  // namespace weir
