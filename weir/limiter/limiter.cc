#include "weir/limiter/limiter.h"

#include <utility>

#include "weir/limiter/limiter_state.h"
#include "weir/runtime/await.h"
#include "weir/runtime/run_on.h"

namespace weir {

Limiter::Limiter(Backend& backend, Scheduler& scheduler, LimiterOptions options)
    : state_(std::make_shared<State>(backend, scheduler, options)) {
  state_->BindMembers();
}

Limiter::~Limiter() { state_->Close(); }

void Limiter::Acquire(const AcquireRequest& request, Deadline deadline, Done<Outcome> done) {
  done = RunOn(state_->callbacks(), std::move(done));
  const ResolvedPtr resolved = state_->FindCached(request);
  if (auto outcome = state_->DecideAtOnce(request, deadline, resolved))
    return done(*std::move(outcome));
  state_->Acquire(request, deadline, resolved, std::move(done));
}

Result<Outcome> Limiter::Acquire(const AcquireRequest& request, Deadline deadline) {
  if (CallbackScope::IsActive()) return Fail(internal::BlocksCallbacks());
  const ResolvedPtr resolved = state_->FindCached(request);
  if (auto outcome = state_->DecideAtOnce(request, deadline, resolved)) return *std::move(outcome);
  return AwaitUnlessInCallback<Outcome>(
      [&](Done<Outcome> done) { state_->Acquire(request, deadline, resolved, std::move(done)); });
}

void Limiter::AcquireAll(const GroupRequest& request, Deadline deadline, Done<GroupOutcome> done) {
  state_->groups().Acquire(request, deadline, RunOn(state_->callbacks(), std::move(done)));
}

Result<GroupOutcome> Limiter::AcquireAll(const GroupRequest& request, Deadline deadline) {
  return AwaitUnlessInCallback<GroupOutcome>([&](Done<GroupOutcome> done) {
    state_->groups().Acquire(request, deadline, std::move(done));
  });
}

void Limiter::Debit(std::span<const AcquirePart> parts, Deadline deadline, Done<void> done) {
  state_->debits().Debit(parts, deadline, RunOn(state_->callbacks(), std::move(done)));
}

Status Limiter::Debit(std::span<const AcquirePart> parts, Deadline deadline) {
  return AwaitUnlessInCallback<void>(
      [&](Done<void> done) { state_->debits().Debit(parts, deadline, std::move(done)); });
}

void Limiter::Apply(std::vector<ConfigChange> changes, Deadline deadline, Done<void> done) {
  state_->Apply(std::move(changes), deadline, RunOn(state_->callbacks(), std::move(done)));
}

Status Limiter::Apply(std::vector<ConfigChange> changes, Deadline deadline) {
  return AwaitUnlessInCallback<void>(
      [&](Done<void> done) { state_->Apply(std::move(changes), deadline, std::move(done)); });
}

Result<ResolvedPtr> Limiter::Resolve(std::string_view entity, std::string_view resource,
                                     Deadline deadline) {
  return AwaitUnlessInCallback<ResolvedPtr>([&](Done<ResolvedPtr> done) {
    state_->resolver().Resolve(entity, resource, deadline, std::move(done));
  });
}

void Limiter::Peek(const PeekRequest& request, Deadline deadline, Done<Peeked> done) {
  state_->Peek(request, deadline, RunOn(state_->callbacks(), std::move(done)));
}

Result<Peeked> Limiter::Peek(const PeekRequest& request, Deadline deadline) {
  return AwaitUnlessInCallback<Peeked>(
      [&](Done<Peeked> done) { state_->Peek(request, deadline, std::move(done)); });
}

void Limiter::Credit(BucketCredit credit, Deadline deadline,
                     Done<std::vector<CreditedLimit>> done) {
  state_->Credit(std::move(credit), deadline, RunOn(state_->callbacks(), std::move(done)));
}

Result<std::vector<CreditedLimit>> Limiter::Credit(BucketCredit credit, Deadline deadline) {
  return AwaitUnlessInCallback<std::vector<CreditedLimit>>(
      [&](Done<std::vector<CreditedLimit>> done) {
        state_->Credit(std::move(credit), deadline, std::move(done));
      });
}

void Limiter::Invalidate() { state_->resolver().ForgetAll(); }

LimiterStats Limiter::stats() const { return state_->stats(); }

HistogramSnapshot Limiter::StoreLatency() const { return state_->StoreLatency(); }

}  // namespace weir
