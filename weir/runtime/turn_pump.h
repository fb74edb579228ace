// Drives a queue of due work with at most one task and one timer.
//
// Kick, if sooner than the timer --> posted_ --> DoDueWork: take_due until it returns false
//                                                  ^                |
//                         the timer fires: OnTimer |                v
//                                                  +----- SetTimer: a timer for the next instant
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "weir/base/mutex.h"
#include "weir/runtime/scheduler.h"

namespace weir {

/// The owner implements the queue and guards it with a lock of its own. The pump never calls the
/// queue while it holds the pump's lock. Thread-safe. Due work is done only on the scheduler's
/// thread, one item after the other. The code that does the work may itself change the queue and
/// call Kick: calls of take_due do not nest.
class TurnPump {
 public:
  struct Queue {
    /// Returns when the next item is due; an instant in the past means now, nothing means never.
    /// Called on any thread.
    std::function<std::optional<Instant>()> next;
    /// Does one or more due items. Returns false if none was due. Called on the scheduler's thread.
    std::function<bool()> take_due;
  };

  TurnPump(Scheduler& scheduler, Queue queue) : scheduler_(scheduler), queue_(std::move(queue)) {}
  /// Call it before anything else. The pump is a member of the owner; tasks keep the owner alive
  /// while they run.
  void Bind(std::weak_ptr<void> owner) { owner_ = std::move(owner); }

  /// Notifies the pump that the queue has changed. Due work is done soon, in a task of the
  /// scheduler. Must not be called with the queue's lock held.
  void Kick();
  /// Cancels the timer, and posts no further task. A task that was posted before still runs, but
  /// does nothing. A call of take_due that has begun on another thread ends normally, and is the
  /// last one.
  void Close();

 private:
  struct Timer {
    Instant at;
    TimerId id;
  };

  /// Does all due work, then sets the timer for the rest.
  void DoDueWork();
  /// Sets the timer to the next instant of the queue.
  void SetTimer();
  /// Removes the timer from timer_ and returns it; it stays scheduled.
  std::optional<Timer> TakeTimer();
  /// Stores the timer in timer_, or cancels it if the pump is closed.
  void StoreTimer(const Timer& timer);
  /// The task of the timer.
  void OnTimer();
  bool IsClosed() WEIR_EXCLUDES(mutex_);
  /// Returns a task that runs `body` if the owner still lives, and keeps the owner alive meanwhile.
  template <class Body>
  auto WhileAlive(Body body);

  Scheduler& scheduler_;
  const Queue queue_;
  std::weak_ptr<void> owner_;

  Mutex mutex_;
  bool closed_ WEIR_GUARDED_BY(mutex_) = false;
  bool posted_ WEIR_GUARDED_BY(mutex_) = false;  // DoDueWork runs, or is posted
  std::optional<Timer> timer_ WEIR_GUARDED_BY(mutex_);
};

}  // namespace weir
