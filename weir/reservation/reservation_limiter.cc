#include "weir/reservation/reservation_limiter.h"

#include <utility>
#include <vector>

#include "weir/reservation/reserve_state.h"
#include "weir/runtime/add_saturated.h"
#include "weir/runtime/await.h"

namespace weir {

ReservationLimiter::State::State(ReservationBackend& backend, Scheduler& scheduler,
                                 const ReservationOptions& options)
    : backend_(backend),
      slots_(backend.slots()),
      clock_(scheduler.clock()),
      options_(options),
      lookup_(backend.limits(), scheduler.clock(),
              {.ttl = options.limits_ttl, .capacity = options.cache_capacity}),
      rng_(options.seed ? *options.seed : SystemSeed()),
      queue_({.full_for = options.full_for,
              .remembered = options.cache_capacity,
              .max_waiting = options.max_waiting,
              .seed = rng_.Next()}),
      pump_(scheduler,
            {.next = [this] { return NextTurn(); }, .take_due = [this] { return TakeTurns(); }}) {}

Deadline ReservationLimiter::State::Timeout() const {
  return Deadline::At(AddSaturated(clock_.Now(), options_.store_timeout));
}

// The callback owns the state, so a release may outlive the limiter. Drain waits for the release,
// which is counted until its result. After an error the slot may have been released, so the queue
// is notified in any case.
void ReservationLimiter::State::GiveBack(const SlotRef& slot, GiveBackKind kind) {
  auto on_released = [self = shared_from_this(), key = slot.key](const Result<bool>&) {
    self->OnReleased(key);
    self->OnGivenBack();
  };
  {
    const MutexLock lock(mutex_);
    ++giving_back_;
  }
  if (kind == GiveBackKind::kAny) {
    return slots_.Release(slot, StoreNow(), Timeout(), std::move(on_released));
  }
  slots_.ReleaseUnbound(slot, StoreNow(), Timeout(), std::move(on_released));
}

void ReservationLimiter::State::ExpectGiveBack() {
  const MutexLock lock(mutex_);
  ++giving_back_;
}

void ReservationLimiter::State::OnGivenBack() {
  std::vector<Done<void>> drained;
  {
    const MutexLock lock(mutex_);
    if (--giving_back_ == 0) drained.swap(drains_);
  }
  for (Done<void>& done : drained) done({});
}

void ReservationLimiter::State::Drain(Done<void> done) {
  {
    const MutexLock lock(mutex_);
    if (giving_back_ > 0) return drains_.push_back(std::move(done));
  }
  done({});
}

ReservationStats ReservationLimiter::State::stats() const {
  ReservationStats stats{.reserved = reserved_.Value(),
                         .refused = refused_.Value(),
                         .errors = errors_.Value(),
                         .remembered = remembered_.Value(),
                         .claims = claims_.Value(),
                         .limit_reads = lookup_.store_reads()};
  const MutexLock lock(mutex_);
  stats.waiting = queue_.waiting();
  return stats;
}

ReservationLimiter::ReservationLimiter(ReservationBackend& backend, Scheduler& scheduler,
                                       ReservationOptions options)
    : state_(std::make_shared<State>(backend, scheduler, options)) {
  state_->Bind();
}

ReservationLimiter::~ReservationLimiter() { state_->Close(); }

void ReservationLimiter::Reserve(const ReserveRequest& request, Deadline deadline,
                                 Done<ReserveOutcome> done) {
  state_->Reserve(request, deadline, std::move(done));
}

Result<ReserveOutcome> ReservationLimiter::Reserve(const ReserveRequest& request,
                                                   Deadline deadline) {
  return AwaitUnlessInCallback<ReserveOutcome>(
      [&](Done<ReserveOutcome> done) { state_->Reserve(request, deadline, std::move(done)); });
}

void ReservationLimiter::Drain(Done<void> done) { state_->Drain(std::move(done)); }

void ReservationLimiter::Drain() {
  (void)Await<void>([&](Done<void> done) { state_->Drain(std::move(done)); });
}

ReservationStats ReservationLimiter::stats() const { return state_->stats(); }

}  // namespace weir
