// The first part of an Acquire: resolves the limits, makes the charges, and queues the call behind
// waiting requests. acquire_completion.cc has the call to the store and its result.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "weir/limiter/charges.h"
#include "weir/limiter/limiter_state.h"
#include "weir/model/identifier.h"
#include "weir/model/set_aside.h"

namespace weir {
namespace {

Result<TargetPtr> GivenTarget(const AcquireRequest& request) {
  WEIR_RETURN_IF_ERROR(CheckEntityId(request.entity));
  WEIR_RETURN_IF_ERROR(CheckResource(request.resource));
  WEIR_RETURN_IF_ERROR(Validate(*request.limits));
  BucketKey key{.entity = std::string(request.entity), .resource = std::string(request.resource)};
  return MakeTarget(std::move(key), SetAside(*request.limits), LimitSource::kOverride);
}

}  // namespace

ResolvedPtr Limiter::State::Find(const AcquireRequest& request) {
  return request.limits ? nullptr : resolver_.Find(request.entity, request.resource);
}

// Handles most requests under limits with an allowance, without the allocation of a Call. Requests
// with an error return nullopt, too: Acquire reports it.
std::optional<Outcome> Limiter::State::AtOnce(const AcquireRequest& request, Deadline deadline,
                                              const ResolvedPtr& resolved) {
  if (resolved == nullptr || request.wait_until || !waiting_.idle()) return std::nullopt;
  if (!HaveAllowance(resolved->targets)) return std::nullopt;
  auto charges = MakeCharges(*resolved, request.amounts);
  if (!charges) return std::nullopt;
  auto decision = allowances_.Tell(*charges, deadline);
  if (!decision) return std::nullopt;
  (decision->admitted ? charged_ : refused_).Add();
  Lease lease = decision->admitted ? Lease(owner_, *std::move(charges)) : Lease();
  return Outcome(*std::move(decision), std::move(lease));
}

void Limiter::State::Acquire(const AcquireRequest& request, Deadline deadline,
                             const ResolvedPtr& resolved, Done<Outcome> done) {
  CallPtr call = NewCall(request, deadline, std::move(done));
  if (request.limits) return StartGiven(std::move(call), request);
  if (resolved != nullptr) return StartResolved(std::move(call), resolved, request.amounts);
  resolver_.Resolve(request.entity, request.resource, deadline,
                    [this, call = std::move(call), amounts = request.amounts,
                     entity = std::string(request.entity),
                     resource = std::string(request.resource)](auto found) mutable {
                      if (!found) {
                        return Unanswered(std::move(call), std::move(found.error()), entity,
                                          resource);
                      }
                      StartResolved(std::move(call), *found, amounts);
                    });
}

// The id is given out here, before any call to the store: waiting requests are served in the order
// in which Acquire was called, not in the order of their refusals.
CallPtr Limiter::State::NewCall(const AcquireRequest& request, Deadline deadline,
                                Done<Outcome> done) {
  auto call = std::make_unique<Call>(std::move(done), deadline);
  call->policy = request.on_unavailable;
  if (!request.wait_until) return call;
  const Instant now = clock_.Now();
  if (request.wait_until->ExpiredAt(now)) return call;
  call->patience = std::make_unique<Patience>(Patience{.id = waiting_.NextId(),
                                                       .until = request.wait_until->at(),
                                                       .budget = deadline.Left(now),
                                                       .entity = std::string(request.entity),
                                                       .resource = std::string(request.resource),

                                                       .amounts = request.amounts,
                                                       .alive = shared_from_this()});
  return call;
}

void Limiter::State::StartGiven(CallPtr call, const AcquireRequest& request) {
  const Result<TargetPtr> target = GivenTarget(request);
  if (!target) return Fail(std::move(call), target.error());
  auto charges = MakeCharges({&*target, 1}, request.amounts);
  if (!charges) return Fail(std::move(call), std::move(charges.error()));
  call->charges = std::move(*charges);
  Enter(std::move(call));
}

void Limiter::State::StartResolved(CallPtr call, const ResolvedPtr& resolved,
                                   const Amounts& amounts) {
  auto charges = MakeCharges(*resolved, amounts);
  if (!charges) return Fail(std::move(call), std::move(charges.error()));
  call->charges = std::move(*charges);
  if (!call->policy) call->policy = resolved->on_unavailable.value_or(options_.on_unavailable);
  if (call->patience) call->patience->resolved = resolved;
  Enter(std::move(call));
}

// If other requests wait for one of its buckets, the call is queued behind them or refused.
void Limiter::State::Enter(CallPtr call) {
  if (waiting_.idle()) return Try(std::move(call));
  if (call->patience != nullptr) {
    const auto verdict = waiting_.Join(call);
    return Place(std::move(call), verdict);
  }
  if (waiting_.FindAhead(call->charges)) return RefuseBehind(std::move(call));
  Try(std::move(call));
}

void Limiter::State::Place(CallPtr call, Waiting::Verdict verdict) {
  switch (verdict) {
    case Waiting::Verdict::kTry:
      return Try(std::move(call));
    case Waiting::Verdict::kQueued:
      return;
    case Waiting::Verdict::kTooLate:
      return RefuseBehind(std::move(call));
    case Waiting::Verdict::kFull:
      return Fail(std::move(call),
                  {Code::kResourceExhausted,
                   fmt::format("{} requests wait for tokens already; max_waiting is {}",
                               waiting_.size(), options_.max_waiting)});
    case Waiting::Verdict::kClosed:
      return Abandon(std::move(call));
  }
}

void Limiter::State::TakeTurn(CallPtr call) {
  Patience& patience = *call->patience;
  const Deadline deadline = Deadline::After(clock_, patience.budget);
  call->deadline = deadline;
  call->renewals = 0;
  if (patience.resolved == nullptr) return Try(std::move(call));
  // The limits may have changed since the last try.
  if (auto resolved = resolver_.Find(patience.entity, patience.resource)) {
    return TryAgain(std::move(call), std::move(resolved));
  }
  resolver_.Resolve(patience.entity, patience.resource, deadline,
                    [this, call = std::move(call)](auto resolved) mutable {
                      TryAgain(std::move(call), std::move(resolved));
                    });
}

void Limiter::State::TryAgain(CallPtr call, Result<ResolvedPtr> resolved) {
  if (!resolved) return Unanswered(std::move(call), std::move(resolved.error()));
  Patience& patience = *call->patience;
  if (*resolved != patience.resolved) {
    auto charges = MakeCharges(**resolved, patience.amounts);
    if (!charges) return Fail(std::move(call), std::move(charges.error()));
    call->charges = std::move(*charges);
    patience.resolved = std::move(*resolved);
  }
  Try(std::move(call));
}

}  // namespace weir
