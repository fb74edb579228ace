#include "weir/limiter/limiter.h"

#include <utility>

#include "weir/limiter/limiter_state.h"
#include "weir/runtime/await.h"

namespace weir {

Limiter::State::State(Limiter& owner, Backend& backend, Scheduler& scheduler,
                      const LimiterOptions& options)
    : owner_(owner),
      buckets_(backend.buckets()),
      config_(backend.config()),
      clock_(scheduler.clock()),
      options_(options),
      resolver_(backend.config(), scheduler.clock(),
                {.ttl = options.cache_ttl, .capacity = options.cache_capacity}),
      waiting_(scheduler, options.max_waiting),
      allowances_(backend.buckets(), scheduler, options.max_allowances, options.max_waiting),
      uncharged_(*options.log, scheduler.clock()),
      outdated_log_(*options.log, scheduler.clock()),
      rng_(options.seed ? *options.seed : SystemSeed()) {}

void Limiter::State::Start() {
  waiting_.Bind(weak_from_this());
  allowances_.Bind(weak_from_this());
}

void Limiter::State::Close() {
  waiting_.Close();
  allowances_.Close();
}

void Limiter::State::Apply(std::vector<ConfigChange> changes, Deadline deadline, Done<void> done) {
  Altered altered = AlteredBy(changes);
  config_.Apply(
      std::move(changes), deadline,
      [this, altered = std::move(altered), done = std::move(done)](Status answer) mutable {
        // Also after an error: the changes may have been made.
        resolver_.Forget(altered);
        waiting_.WakeAll();
        done(std::move(answer));
      });
}

LimiterStats Limiter::State::stats() const {
  const AllowanceStats allowances = allowances_.stats();
  // Each counter is read once. `admitted` is a sum, so it never decreases between two calls; a
  // difference of counters could.
  const std::uint64_t charged = charged_.Value();
  const std::uint64_t unprotected = unprotected_.Value();
  return {.admitted = charged + unprotected,
          .refused = refused_.Value(),
          .errors = errors_.Value(),
          .charged = charged,
          .unprotected = unprotected,
          .waiting = waiting_.size(),
          .store_errors = store_errors_.Value(),
          .adjusts_in_doubt = adjusts_in_doubt_.Value(),
          .adjusts_given_up = adjusts_given_up_.Value(),
          .outdated = outdated_.Value(),
          .resolver = resolver_.stats(),
          .allowances = allowances,
          .store_acquires = store_acquires_.Value() + allowances.debits,
          .store_adjusts = store_adjusts_.Value() + allowances.returns,
          .store_config_reads = resolver_.store_reads()};
}

Limiter::Limiter(Backend& backend, Scheduler& scheduler, LimiterOptions options)
    : state_(std::make_shared<State>(*this, backend, scheduler, options)) {
  state_->Start();
}

Limiter::~Limiter() { state_->Close(); }

void Limiter::Acquire(const AcquireRequest& request, Deadline deadline, Done<Outcome> done) {
  const ResolvedPtr resolved = state_->Find(request);
  if (auto outcome = state_->AtOnce(request, deadline, resolved)) return done(*std::move(outcome));
  state_->Acquire(request, deadline, resolved, std::move(done));
}

Result<Outcome> Limiter::Acquire(const AcquireRequest& request, Deadline deadline) {
  const ResolvedPtr resolved = state_->Find(request);
  if (auto outcome = state_->AtOnce(request, deadline, resolved)) return *std::move(outcome);
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
