// An event that one thread announces and one other thread waits for.
#pragma once

#include <semaphore.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

#include "weir/base/api.h"

namespace weir::internal {

/// An announcement costs one atomic exchange, and a system call only if the other thread is
/// waiting.
///
/// state_:  null -- EnlistWaiter --> Waiter* -- Announce, which then wakes --> this (happened)
///            | ^                |                                           ^
///            | +-- `readable` --+                                           |
///            +------------------ Announce ----------------------------------+
class WEIR_API Arrival {
 public:
  /// Announces the event. Call it once. After the exchange, Announce accesses only the Waiter, if a
  /// thread waits, so the other thread may destroy the Arrival at once.
  void Announce() {
    void* const waiter = state_.exchange(this, std::memory_order_acq_rel);
    if (waiter != nullptr) static_cast<Waiter*>(waiter)->Wake();
  }

  bool Happened() const { return state_.load(std::memory_order_acquire) == this; }

  /// Blocks until the event has happened.
  void Wait() {
    if (Happened()) return;
    Waiter waiter;
    if (EnlistWaiter(waiter)) waiter.Sleep();
  }

  /// Blocks until the event has happened, or until the descriptor `readable` is readable or broken.
  /// Returns whether the event has happened. `wake` is a blocking eventfd with EFD_SEMAPHORE;
  /// several threads may share it. A signal may end the wait early.
  bool WaitUnlessReadable(int readable, int wake);

 private:
  /// A thread that waits. That thread destroys its Waiter as soon as Sleep has returned or the unit
  /// of `wake` was read, while Wake may still be returning on the other thread. POSIX allows this
  /// for its semaphores (sem_destroy); C++ does not promise it for the semaphores of std.
  class Waiter {
   public:
    explicit Waiter(int wake = -1) : wake_(wake) { sem_init(&woken_, 0, 0); }
    ~Waiter() { sem_destroy(&woken_); }
    Waiter(const Waiter&) = delete;
    Waiter& operator=(const Waiter&) = delete;
    void Wake() {
      const std::uint64_t one = 1;
      if (wake_ < 0) {
        sem_post(&woken_);
      } else {
        while (write(wake_, &one, sizeof(one)) < 0) {  // retry after a signal
        }
      }
    }
    void Sleep() {
      while (sem_wait(&woken_) != 0) {  // retry after a signal
      }
    }

   private:
    sem_t woken_;
    const int wake_;  ///< Wake writes to it instead of posting the semaphore, unless it is negative
  };

  /// Registers the waiter. Returns false if the event has happened.
  bool EnlistWaiter(Waiter& waiter) {
    void* no_waiter = nullptr;
    return state_.compare_exchange_strong(no_waiter, &waiter, std::memory_order_acq_rel);
  }

  /// Null at first; a Waiter while a thread waits; the address of this object once the event has
  /// happened.
  std::atomic<void*> state_ = nullptr;
};

}  // namespace weir::internal
