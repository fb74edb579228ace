// Drives the queue: one timer, and the scheduler's thread.
#include <utility>
#include <vector>

#include "weir/reservation/reserve_state.h"

namespace weir {

struct ReservationLimiter::State::Turns {
  std::vector<std::pair<CallPtr, ReserveQueue::Known>> expired;
  std::vector<CallPtr> asks;

  bool empty() const { return expired.empty() && asks.empty(); }
};

void ReservationLimiter::State::TakeTurn(CallPtr call) {
  call->deadline = Deadline::After(clock_, call->budget);
  FindLimit(std::move(call), &State::Try);
}

// Without effect where the queue does not know of it, or not any more.
void ReservationLimiter::State::Leave(ReserveCall& call) {
  if (!std::exchange(call.placed, false)) return;
  {
    const MutexLock lock(mutex_);
    queue_.Leave(call.request.id);
  }
  Kick();
}

void ReservationLimiter::State::Released(const AccountKey& key) {
  {
    const MutexLock lock(mutex_);
    queue_.Released(key);
  }
  Kick();
}

void ReservationLimiter::State::Close() {
  std::map<ReserveQueue::Id, CallPtr> calls;
  std::optional<Timer> timer;
  {
    const MutexLock lock(mutex_);
    closed_ = true;
    calls.swap(calls_);
    timer.swap(timer_);
  }
  if (timer) scheduler_.Cancel(timer->id);
  for (auto& [id, call] : calls) {
    call->placed = false;
    Fail(std::move(call), TurnedAway());
  }
}

// Has Pump run soon, if there is anything for it to do.
void ReservationLimiter::State::Kick() {
  {
    const MutexLock lock(mutex_);
    const auto next = queue_.NextWake();
    const bool sooner = next && (!timer_ || *next < timer_->at);
    if (closed_ || posted_ || !sooner) return;
    posted_ = true;
  }
  scheduler_.Post([self = shared_from_this()] { self->Pump(); });
}

void ReservationLimiter::State::Pump() {
  for (Turns turns = NextTurns(); !turns.empty(); turns = NextTurns()) {
    for (auto& [call, known] : turns.expired) Expire(std::move(call), known);
    for (CallPtr& call : turns.asks) TakeTurn(std::move(call));
  }
  Arm();
}

ReservationLimiter::State::Turns ReservationLimiter::State::NextTurns() {
  Turns turns;
  const MutexLock lock(mutex_);
  posted_ = false;
  if (closed_) return turns;
  const ReserveQueue::Step step = queue_.Advance(clock_.Now());
  for (const auto& [id, known] : step.expired) turns.expired.emplace_back(Take(id), known);
  for (const ReserveQueue::Id id : step.asks) turns.asks.push_back(Take(id));
  posted_ = !turns.empty();
  return turns;
}

// One timer for all: at the first instant at which there may be something to do.
void ReservationLimiter::State::Arm() {
  std::optional<Instant> next;
  std::optional<Timer> old;
  {
    const MutexLock lock(mutex_);
    next = queue_.NextWake();
    if (closed_ || (timer_ && next == timer_->at)) return;
    old = std::exchange(timer_, std::nullopt);
  }
  if (old) scheduler_.Cancel(old->id);
  if (!next) return;
  const TimerId id = scheduler_.At(*next, [self = shared_from_this()] { self->Ring(); });
  {
    const MutexLock lock(mutex_);
    if (!closed_) timer_ = Timer{*next, id};
    if (!closed_) return;
  }
  scheduler_.Cancel(id);
}

void ReservationLimiter::State::Ring() {
  {
    const MutexLock lock(mutex_);
    timer_.reset();
    posted_ = true;
  }
  Pump();
}

ReserveCallPtr ReservationLimiter::State::Take(ReserveQueue::Id id) {
  const auto found = calls_.find(id);
  CallPtr call = std::move(found->second);
  calls_.erase(found);
  return call;
}

}  // namespace weir
