// Drives a queue of what is to be done at some instant: one task at a time and one timer.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "weir/base/mutex.h"
#include "weir/runtime/scheduler.h"

namespace weir {

/// The queue behind it is its owner's, with a lock of its own, which is never held when the pump's
/// is taken. Thread-safe. What is due is done on the scheduler's thread only, one after the other:
/// what runs there may itself change the queue without nesting.
class TurnPump {
 public:
  struct Queue {
    /// When something is to be done; in the past: now; nothing: never. Called by any thread.
    std::function<std::optional<Instant>()> next;
    /// Does what is due; false: nothing was. Called on the scheduler's thread.
    std::function<bool()> take_due;
  };

  TurnPump(Scheduler& scheduler, Queue queue) : scheduler_(scheduler), queue_(std::move(queue)) {}
  /// Before anything else. The pump is a member of the owner, which tasks keep alive while they
  /// run.
  void Bind(std::weak_ptr<void> owner) { owner_ = std::move(owner); }

  /// The queue changed: what is due is done soon. Not with the queue's lock held.
  void Kick();
  /// No more is begun; what runs goes on to its end.
  void Close();

 private:
  struct Timer {
    Instant at;
    TimerId id;
  };

  void Pump();
  void Arm();
  std::optional<Timer> TakeTimer();
  void Keep(const Timer& timer);
  void Ring();
  template <class Body>
  auto WhileAlive(Body body);

  Scheduler& scheduler_;
  const Queue queue_;
  std::weak_ptr<void> owner_;

  Mutex mutex_;
  bool closed_ WEIR_GUARDED_BY(mutex_) = false;
  bool posted_ WEIR_GUARDED_BY(mutex_) = false;  // Pump runs, or will
  std::optional<Timer> timer_ WEIR_GUARDED_BY(mutex_);
};

}  // namespace weir
