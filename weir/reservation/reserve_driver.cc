// The driver of the queue: a TurnPump starts the tries that are due, and completes the calls whose
// time is over. The queue is used under mutex_; calls are continued without the lock.
#include <utility>
#include <vector>

#include "weir/reservation/reserve_state.h"

namespace weir {

void ReservationLimiter::State::TakeTurn(CallPtr call) {
  call->deadline = DeadlineOfTry(call->of_request);
  FindLimit(std::move(call), &State::Try);
}

// Has no effect if the queue has no entry for the call.
void ReservationLimiter::State::LeaveQueue(ReserveCall& call) {
  if (!std::exchange(call.in_queue, false)) return;
  {
    const MutexLock lock(mutex_);
    queue_.Remove(call.request.id);
  }
  pump_.Kick();
}

void ReservationLimiter::State::OnReleased(const AccountKey& key) {
  {
    const MutexLock lock(mutex_);
    queue_.OnReleased(key);
  }
  pump_.Kick();
}

// Calls whose try is in flight are not in calls_. They complete when the store responds.
void ReservationLimiter::State::Close() {
  std::map<ReserveQueue::Id, CallPtr> calls;
  {
    const MutexLock lock(mutex_);
    closed_ = true;
    calls.swap(calls_);
  }
  pump_.Close();
  for (auto& [id, call] : calls) {
    call->in_queue = false;
    Fail(std::move(call), NotQueuedError());
  }
}

std::optional<Instant> ReservationLimiter::State::NextTurn() const {
  const MutexLock lock(mutex_);
  return closed_ ? std::nullopt : queue_.NextWake();
}

// The calls are continued without the lock, because their callbacks may release slots.
bool ReservationLimiter::State::TakeTurns() {
  std::vector<std::pair<CallPtr, ReserveQueue::Known>> expired;
  std::vector<CallPtr> asks;
  {
    const MutexLock lock(mutex_);
    if (closed_) return false;
    const ReserveQueue::Step step = queue_.Advance(clock_.Now());
    for (const auto& [id, known] : step.expired) expired.emplace_back(TakeCall(id), known);
    for (const ReserveQueue::Id id : step.asks) asks.push_back(TakeCall(id));
  }
  for (auto& [call, known] : expired) Expire(std::move(call), known);
  for (CallPtr& call : asks) TakeTurn(std::move(call));
  return !expired.empty() || !asks.empty();
}

ReserveCallPtr ReservationLimiter::State::TakeCall(ReserveQueue::Id id) {
  const auto found = calls_.find(id);
  CallPtr call = std::move(found->second);
  calls_.erase(found);
  return call;
}

}  // namespace weir
