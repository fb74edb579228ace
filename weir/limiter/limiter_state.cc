#include "weir/limiter/limiter_state.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "weir/limiter/charges/charges.h"
#include "weir/limiter/charges/refusals.h"
#include "weir/model/identifier.h"
#include "weir/model/reserved_allowance.h"
#include "weir/runtime/add_saturated.h"

namespace weir {
namespace {

absl::InlinedVector<std::string, 1> LookedAt(const Amounts& amounts) {
  absl::InlinedVector<std::string, 1> names;
  for (const auto& [limit, tokens] : amounts) {
    if (tokens == Tokens(0)) names.push_back(limit);
  }
  return names;
}

Result<TargetPtr> GivenTarget(const AcquireRequest& request) {
  WEIR_RETURN_IF_ERROR(CheckEntityId(request.entity));
  WEIR_RETURN_IF_ERROR(CheckResource(request.resource));
  WEIR_RETURN_IF_ERROR(Validate(*request.limits));
  BucketKey key{.entity = std::string(request.entity), .resource = std::string(request.resource)};
  return MakeTarget(std::move(key), ReserveAllowance(*request.limits), LimitSource::kOverride);
}

}  // namespace

Limiter::State::State(Backend& backend, Scheduler& scheduler, const LimiterOptions& options)
    : backend_(backend),
      clock_(scheduler.clock()),
      options_(options),
      resolver_(backend.config(), scheduler.clock(),
                {.ttl = options.cache_ttl, .capacity = options.cache_capacity}),
      waiting_(scheduler, options.max_waiting),
      allowances_(backend.buckets(), scheduler, options.max_allowances, options.max_waiting),
      adjusts_(
          backend.buckets(), scheduler.clock(), waiting_,
          {.timeout = options.store_timeout, .callbacks = options.callbacks, .seed = options.seed}),
      fail_open_(resolver_, options.on_unavailable, *options.log, scheduler.clock()),
      end_(waiting_, adjusts_, fail_open_),
      outdated_log_(*options.log, scheduler.clock()),
      renewal_(resolver_, attempt_, end_, outdated_log_),
      attempt_({.buckets = backend.buckets(),
                .clock = scheduler.clock(),
                .waiting = waiting_,
                .allowances = allowances_,
                .fail_open = fail_open_,
                .end = end_,
                .renewal = renewal_}),
      groups_(resolver_, end_, attempt_, options.on_unavailable),
      debits_(resolver_, adjusts_, scheduler) {}

void Limiter::State::BindMembers() {
  waiting_.Bind(weak_from_this());
  allowances_.Bind(weak_from_this());
  adjusts_.Bind(shared_from_this());
  renewal_.Bind(weak_from_this());
}

void Limiter::State::Close() {
  waiting_.Close();
  allowances_.Close();
  adjusts_.Close();
}

void Limiter::State::Apply(std::vector<ConfigChange> changes, Deadline deadline, Done<void> done) {
  AffectedPairs affected = PairsAffectedBy(changes);
  backend_.config().Apply(
      std::move(changes), deadline,
      [this, affected = std::move(affected), done = std::move(done)](Status result) mutable {
        // Also after an error: the changes may have been made.
        resolver_.DropAffected(affected);
        waiting_.WakeAll();
        done(std::move(result));
      });
}

void Limiter::State::Peek(const PeekRequest& request, Deadline deadline, Done<Peeked> done) {
  weir::Peek(resolver_, backend_.buckets(), request, deadline, std::move(done));
}

void Limiter::State::Credit(BucketCredit credit, Deadline deadline,
                            Done<std::vector<CreditedLimit>> done) {
  const CreditStamp stamp{.at = backend_.buckets().Now(), .seed = adjusts_.NewAdjustId().low};
  weir::Credit(backend_, std::move(credit), stamp, deadline,
               [this, done = std::move(done)](auto credited) mutable {
                 waiting_.WakeAll();  // also after an error: a part may have been given
                 done(std::move(credited));
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
  if (resolved == nullptr || request.wait || !waiting_.idle()) return std::nullopt;
  if (!HaveAllowance(resolved->targets)) return std::nullopt;
  const PartView part = PartOf(*resolved, request.amounts);
  auto charges = MakeCharges({&part, 1});
  if (!charges || charges->empty()) return std::nullopt;
  if (BlockedRefusal({&part, 1})) return std::nullopt;
  auto decision = allowances_.TryDecide(*charges, deadline);
  if (!decision) return std::nullopt;
  end_.Count(*decision);
  std::ranges::move(MakeUncharged({&part, 1}, *charges), std::back_inserter(*charges));
  Lease lease = decision->admitted ? Lease(adjusts_.OwnedByThread(), *std::move(charges)) : Lease();
  return Outcome(*std::move(decision), std::move(lease));
}

void Limiter::State::Acquire(const AcquireRequest& request, Deadline deadline,
                             const ResolvedPtr& resolved, Done<Outcome> done) {
  CallPtr call = NewCall(request, deadline, std::move(done));
  const Deadline deadline_of_read = call->deadline;
  if (request.limits) return StartGiven(std::move(call), request);
  if (resolved != nullptr) return StartResolved(std::move(call), resolved, request.amounts);
  resolver_.Resolve(request.entity, request.resource, deadline_of_read,
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

// The id is assigned here, before any call to the store: waiting requests are served in the order
// in which Acquire was called, not in the order of their refusals.
CallPtr Limiter::State::NewCall(const AcquireRequest& request, Deadline deadline,
                                Done<Outcome> done) {
  auto call = std::make_unique<PendingAcquire>(std::move(done), deadline);
  call->own_policy = request.on_unavailable;
  if (!request.wait) return call;
  call->limiter_state = shared_from_this();
  const Deadline until = std::min(request.wait_until, deadline);
  const Instant now = clock_.Now();
  if (until.ExpiredAt(now)) return call;
  call->deadline = DeadlineOfTry(deadline, now);
  // `new`, because make_unique would have to move the WaitState, which is not movable.
  call->wait.reset(new WaitState{.id = waiting_.NextId(),
                                 .until = until.at(),
                                 .deadline = deadline,
                                 .budget = call->deadline.Left(now),
                                 .entity = std::string(request.entity),
                                 .resource = std::string(request.resource),
                                 .amounts = request.amounts,
                                 .stop = request.stop});
  waiting_.WatchStop(*call->wait);
  return call;
}

Deadline Limiter::State::DeadlineOfTry(Deadline of_request, Instant now) const {
  return std::min(of_request, Deadline::At(AddSaturated(now, options_.store_timeout)));
}

void Limiter::State::StartGiven(CallPtr call, const AcquireRequest& request) {
  const Result<TargetPtr> target = GivenTarget(request);
  if (!target) return end_.Fail(std::move(call), target.error());
  call = end_.SetCharges(std::move(call), {.targets = {&*target, 1}, .amounts = request.amounts});
  if (call != nullptr) attempt_.Enter(std::move(call));
}

void Limiter::State::StartResolved(CallPtr call, const ResolvedPtr& resolved,
                                   const Amounts& amounts) {
  call = end_.SetCharges(std::move(call), PartOf(*resolved, amounts));
  if (call == nullptr) return;
  call->policy = resolved->on_unavailable.value_or(options_.on_unavailable);
  if (call->wait) {
    call->wait->resolved = resolved;
  } else {
    call->looked_at = LookedAt(amounts);
  }
  attempt_.Enter(std::move(call));
}

void Limiter::State::TakeTurn(CallPtr call) {
  WaitState& wait = *call->wait;
  if (wait.stop.stop_requested()) return Stop(std::move(call));
  // One reading of the clock, as in NewCall: with two readings, a try that has the whole
  // store_timeout would seem to have less time than the first one had.
  const Instant now = clock_.Now();
  const Deadline deadline = DeadlineOfTry(wait.deadline, now);
  call->deadline = deadline;
  call->is_cut_short = deadline.Left(now) < wait.budget;
  call->renewals = 0;
  // Under overload, the head of a queue is often a request that is about to expire. A try that
  // cannot end in time would take the tokens from the requests behind the head.
  if (call->is_cut_short && !attempt_.HasTime(deadline, now))
    return attempt_.RefuseUntried(std::move(call));
  if (wait.resolved == nullptr) {
    call->policy.reset();  // read again with the try
    return attempt_.Try(std::move(call));
  }
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
    call = end_.SetCharges(std::move(call), PartOf(**resolved, wait.amounts));
    if (call == nullptr) return;
    call->policy = (*resolved)->on_unavailable.value_or(options_.on_unavailable);
    wait.resolved = std::move(*resolved);
  }
  attempt_.Try(std::move(call));
}

void Limiter::State::Expire(CallPtr call) {
  call->deadline = DeadlineOfTry(call->wait->deadline, clock_.Now());
  attempt_.RefuseUntried(std::move(call));
}

}  // namespace weir
