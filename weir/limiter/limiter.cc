#include "weir/limiter/limiter.h"

#include <utility>

#include "weir/limiter/limiter_state.h"
#include "weir/runtime/await.h"

namespace weir {

Limiter::Limiter(Backend& backend, Scheduler& scheduler, LimiterOptions options)
    : state_(std::make_shared<State>(*this, backend, scheduler, options)) {
  state_->BindMembers();
}

Limiter::~Limiter() { state_->Close(); }

void Limiter::Acquire(const AcquireRequest& request, Deadline deadline, Done<Outcome> done) {
  const ResolvedPtr resolved = state_->FindCached(request);
  if (auto outcome = state_->DecideAtOnce(request, deadline, resolved))
    return done(*std::move(outcome));
  state_->Acquire(request, deadline, resolved, std::move(done));
}

Result<Outcome> Limiter::Acquire(const AcquireRequest& request, Deadline deadline) {
  const ResolvedPtr resolved = state_->FindCached(request);
  if (auto outcome = state_->DecideAtOnce(request, deadline, resolved)) return *std::move(outcome);
  return Await<Outcome>(
      [&](Done<Outcome> done) { state_->Acquire(request, deadline, resolved, std::move(done)); });
}

void Limiter::Apply(std::vector<ConfigChange> changes, Deadline deadline, Done<void> done) {
  state_->Apply(std::move(changes), deadline, std::move(done));
}

Status Limiter::Apply(std::vector<ConfigChange> changes, Deadline deadline) {
  return Await<void>(
      [&](Done<void> done) { state_->Apply(std::move(changes), deadline, std::move(done)); });
}

Result<ResolvedPtr> Limiter::Resolve(std::string_view entity, std::string_view resource,
                                     Deadline deadline) {
  return Await<ResolvedPtr>([&](Done<ResolvedPtr> done) {
    state_->resolver().Resolve(entity, resource, deadline, std::move(done));
  });
}

void Limiter::Invalidate() { state_->resolver().ForgetAll(); }

LimiterStats Limiter::stats() const { return state_->stats(); }

HistogramSnapshot Limiter::StoreLatency() const { return state_->StoreLatency(); }

}  // namespace weir
