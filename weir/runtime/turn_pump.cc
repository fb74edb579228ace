#include "weir/runtime/turn_pump.h"

#include <utility>

namespace weir {

template <class Body>
auto TurnPump::WhileAlive(Body body) {
  return [owner = owner_, body = std::move(body)] {
    if (const auto alive = owner.lock()) body();
  };
}

void TurnPump::Kick() {
  const std::optional<Instant> next = queue_.next();
  {
    const MutexLock lock(mutex_);
    // A timer that fires before the next item is due finds the change by itself.
    const bool is_sooner = next && (!timer_ || *next < timer_->at);
    if (closed_ || posted_ || !is_sooner) return;
    posted_ = true;
  }
  scheduler_.Post(WhileAlive([this] { DoDueWork(); }));
}

// A Kick while `posted_` is set posts no task. SetTimer, which runs after `posted_` is reset, then
// sees the change to the queue.
void TurnPump::DoDueWork() {
  while (!IsClosed() && queue_.take_due()) {
  }
  {
    const MutexLock lock(mutex_);
    posted_ = false;
    if (closed_) return;
  }
  SetTimer();
}

bool TurnPump::IsClosed() {
  const MutexLock lock(mutex_);
  return closed_;
}

// Sets at most one timer, for the first instant at which an item may be due. timer_ is cleared
// before the queue is read: a Kick that follows a later change finds no timer, and therefore posts.
void TurnPump::SetTimer() {
  std::optional<Timer> timer = TakeTimer();
  const std::optional<Instant> next = queue_.next();
  if (timer && next != timer->at) {
    scheduler_.Cancel(timer->id);
    timer.reset();
  }
  if (!timer && next) {
    timer = Timer{*next, scheduler_.At(*next, WhileAlive([this] { OnTimer(); }))};
  }
  if (timer) StoreTimer(*timer);
}

std::optional<TurnPump::Timer> TurnPump::TakeTimer() {
  const MutexLock lock(mutex_);
  return std::exchange(timer_, std::nullopt);
}

void TurnPump::StoreTimer(const Timer& timer) {
  {
    const MutexLock lock(mutex_);
    if (!closed_) timer_ = timer;
    if (!closed_) return;
  }
  scheduler_.Cancel(timer.id);
}

void TurnPump::OnTimer() {
  {
    const MutexLock lock(mutex_);
    timer_.reset();
    posted_ = true;
  }
  DoDueWork();
}

void TurnPump::Close() {
  std::optional<Timer> timer;
  {
    const MutexLock lock(mutex_);
    closed_ = true;
    timer.swap(timer_);
  }
  if (timer) scheduler_.Cancel(timer->id);
}

}  // namespace weir
