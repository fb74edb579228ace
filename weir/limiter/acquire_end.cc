#include "weir/limiter/acquire_end.h"

#include <utility>

namespace weir {

// If the Limiter was closed during the try of a waiting call, its tokens go back: the lease could
// not outlive the Limiter.
void AcquireEnd::Admit(CallPtr call, Decision decision) {
  for (std::size_t i = 0; i < decision.shards.size(); ++i) {
    call->charges[i].shard = decision.shards[i];
  }
  if (call->wait != nullptr) {
    waiting_.RemoveCall(*call);
    if (waiting_.closed()) {
      adjusts_.GiveBack(call->charges);
      return Abandon(std::move(call));
    }
  }
  charged_.Add();
  decision.maybe_charged_twice |= call->maybe_charged;
  call->done(Outcome(std::move(decision), Lease(limiter_, std::move(call->charges))));
}

void AcquireEnd::Refuse(CallPtr call, Decision decision) {
  waiting_.RemoveCall(*call);
  refused_.Add();
  decision.maybe_charged_twice |= call->maybe_charged;
  call->done(Outcome(std::move(decision), Lease()));
}

void AcquireEnd::Fail(CallPtr call, Error error) {
  waiting_.RemoveCall(*call);
  errors_.Add();
  call->done(weir::Fail(std::move(error)));
}

void AcquireEnd::Abandon(CallPtr call) {
  Fail(std::move(call),
       {Code::kCancelled, "the limiter was closed while the request waited for tokens"});
}

void AcquireEnd::OnStoreError(CallPtr call, Error error) {
  const TargetPtr own = call->charges.front().target;
  OnStoreError(std::move(call), std::move(error), own->key.entity, own->key.resource);
}

// There is no decision. If the store is unavailable and the policy is to allow, the call is
// admitted without a charge; otherwise it fails.
void AcquireEnd::OnStoreError(CallPtr call, Error error, std::string_view entity,
                              std::string_view resource) {
  if (call->wait != nullptr && waiting_.closed()) return Abandon(std::move(call));
  if (!fail_open_.Admits(*call, error, entity, resource)) {
    return Fail(std::move(call), std::move(error));
  }
  waiting_.RemoveCall(*call);
  call->done(
      Outcome(Decision{.admitted = true, .maybe_charged_twice = call->maybe_charged, .limits = {}},
              Lease()));
}

}  // namespace weir
