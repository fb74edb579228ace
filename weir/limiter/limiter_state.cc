#include "weir/limiter/limiter_state.h"

#include <algorithm>
#include <utility>

#include "weir/limiter/charges.h"
#include "weir/model/identifier.h"
#include "weir/model/reserved_allowance.h"

namespace weir {
namespace {

Result<TargetPtr> GivenTarget(const AcquireRequest& request) {
  WEIR_RETURN_IF_ERROR(CheckEntityId(request.entity));
  WEIR_RETURN_IF_ERROR(CheckResource(request.resource));
  WEIR_RETURN_IF_ERROR(Validate(*request.limits));
  BucketKey key{.entity = std::string(request.entity), .resource = std::string(request.resource)};
  return MakeTarget(std::move(key), ReserveAllowance(*request.limits), LimitSource::kOverride);
}

}  // namespace

Limiter::State::State(Limiter& owner, Backend& backend, Scheduler& scheduler,
                      const LimiterOptions& options)
    : owner_(owner),
      config_(backend.config()),
      clock_(scheduler.clock()),
      options_(options),
      resolver_(backend.config(), scheduler.clock(),
                {.ttl = options.cache_ttl, .capacity = options.cache_capacity}),
      waiting_(scheduler, options.max_waiting),
      allowances_(backend.buckets(), scheduler, options.max_allowances, options.max_waiting),
      adjusts_(backend.buckets(), scheduler.clock(), waiting_,
               {.timeout = options.lease_timeout, .seed = options.seed}),
      fail_open_(resolver_, options.on_unavailable, *options.log, scheduler.clock()),
      end_(owner, waiting_, adjusts_, fail_open_),
      outdated_log_(*options.log, scheduler.clock()),
      renewal_(resolver_, attempt_, end_, outdated_log_),
      attempt_({.buckets = backend.buckets(),
                .clock = scheduler.clock(),
                .waiting = waiting_,
                .allowances = allowances_,
                .fail_open = fail_open_,
                .end = end_,
                .renewal = renewal_}) {}

void Limiter::State::BindMembers() {
  waiting_.Bind(weak_from_this());
  allowances_.Bind(weak_from_this());
  adjusts_.Bind(weak_from_this());
  renewal_.Bind(weak_from_this());
}

void Limiter::State::Close() {
  waiting_.Close();
  allowances_.Close();
}

void Limiter::State::Apply(std::vector<ConfigChange> changes, Deadline deadline, Done<void> done) {
  AffectedPairs affected = PairsAffectedBy(changes);
  config_.Apply(
      std::move(changes), deadline,
      [this, affected = std::move(affected), done = std::move(done)](Status answer) mutable {
        // Also after an error: the changes may have been made.
        resolver_.DropAffected(affected);
        waiting_.WakeAll();
        done(std::move(answer));
      });
}

LimiterStats Limiter::State::stats() const {
  const AllowanceStats allowances = allowances_.stats();
  // Each counter is read once. `admitted` is a sum, so it never decreases between two calls; a
  // difference of counters could.
  const std::uint64_t charged = end_.charged();
  const std::uint64_t unprotected = fail_open_.unprotected();
  return {.admitted = charged + unprotected,
          .refused = end_.refused(),
          .errors = end_.errors(),
          .charged = charged,
          .unprotected = unprotected,
          .waiting = waiting_.size(),
          .store_errors = fail_open_.store_errors(),
          .adjusts_in_doubt = adjusts_.in_doubt(),
          .adjusts_given_up = adjusts_.given_up(),
          .outdated = renewal_.outdated(),
          .resolver = resolver_.stats(),
          .allowances = allowances,
          .store_acquires = attempt_.store_acquires() + allowances.debits,
          .store_adjusts = adjusts_.sent() + allowances.returns,
          .store_config_reads = resolver_.store_reads()};
}

ResolvedPtr Limiter::State::FindCached(const AcquireRequest& request) {
  return request.limits ? nullptr : resolver_.Find(request.entity, request.resource);
}

// Handles most requests under limits with an allowance, without the allocation of a PendingAcquire.
// Requests with an error return nullopt, too: Acquire reports it.
std::optional<Outcome> Limiter::State::DecideAtOnce(const AcquireRequest& request,
                                                    Deadline deadline,
                                                    const ResolvedPtr& resolved) {
  if (resolved == nullptr || request.wait_until || !waiting_.idle()) return std::nullopt;
  if (!HaveAllowance(resolved->targets)) return std::nullopt;
  auto charges = MakeCharges(*resolved, request.amounts);
  if (!charges) return std::nullopt;
  auto decision = allowances_.TryDecide(*charges, deadline);
  if (!decision) return std::nullopt;
  end_.Count(*decision);
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
                        return end_.OnStoreError(std::move(call), std::move(found.error()), entity,
                                                 resource);
                      }
                      StartResolved(std::move(call), *found, amounts);
                    });
}

// The id is given out here, before any call to the store: waiting requests are served in the order
// in which Acquire was called, not in the order of their refusals.
CallPtr Limiter::State::NewCall(const AcquireRequest& request, Deadline deadline,
                                Done<Outcome> done) {
  auto call = std::make_unique<PendingAcquire>(std::move(done), deadline);
  call->policy = request.on_unavailable;
  if (!request.wait_until) return call;
  const Instant now = clock_.Now();
  if (request.wait_until->ExpiredAt(now)) return call;
  call->wait = std::make_unique<WaitState>(WaitState{.id = waiting_.NextId(),
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
  if (!target) return end_.Fail(std::move(call), target.error());
  auto charges = MakeCharges({&*target, 1}, request.amounts);
  if (!charges) return end_.Fail(std::move(call), std::move(charges.error()));
  call->charges = std::move(*charges);
  EnterOrQueue(std::move(call));
}

void Limiter::State::StartResolved(CallPtr call, const ResolvedPtr& resolved,
                                   const Amounts& amounts) {
  auto charges = MakeCharges(*resolved, amounts);
  if (!charges) return end_.Fail(std::move(call), std::move(charges.error()));
  call->charges = std::move(*charges);
  if (!call->policy) call->policy = resolved->on_unavailable.value_or(options_.on_unavailable);
  if (call->wait) call->wait->resolved = resolved;
  EnterOrQueue(std::move(call));
}

// If other requests wait for one of its buckets, the call is queued behind them or refused.
void Limiter::State::EnterOrQueue(CallPtr call) {
  if (waiting_.idle()) return attempt_.Try(std::move(call));
  if (call->wait != nullptr) {
    const auto verdict = waiting_.JoinBehind(call);
    return attempt_.FollowVerdict(std::move(call), verdict);
  }
  if (waiting_.FindAhead(call->charges)) return attempt_.RefuseBehind(std::move(call));
  attempt_.Try(std::move(call));
}

void Limiter::State::TakeTurn(CallPtr call) {
  WaitState& wait = *call->wait;
  const Deadline deadline = Deadline::After(clock_, wait.budget);
  call->deadline = deadline;
  call->renewals = 0;
  if (wait.resolved == nullptr) return attempt_.Try(std::move(call));
  // The limits may have changed since the last try.
  if (auto resolved = resolver_.Find(wait.entity, wait.resource)) {
    return TryAgain(std::move(call), std::move(resolved));
  }
  resolver_.Resolve(wait.entity, wait.resource, deadline,
                    [this, call = std::move(call)](auto resolved) mutable {
                      TryAgain(std::move(call), std::move(resolved));
                    });
}

void Limiter::State::TryAgain(CallPtr call, Result<ResolvedPtr> resolved) {
  if (!resolved) return end_.OnStoreError(std::move(call), std::move(resolved.error()));
  WaitState& wait = *call->wait;
  if (*resolved != wait.resolved) {
    auto charges = MakeCharges(**resolved, wait.amounts);
    if (!charges) return end_.Fail(std::move(call), std::move(charges.error()));
    call->charges = std::move(*charges);
    wait.resolved = std::move(*resolved);
  }
  attempt_.Try(std::move(call));
}

void Limiter::State::Expire(CallPtr call) {
  call->deadline = Deadline::After(clock_, call->wait->budget);
  attempt_.RefuseBehind(std::move(call));
}

}  // namespace weir
