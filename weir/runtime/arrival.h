// An event that one thread announces and one other waits for.
#pragma once

#include <semaphore.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

namespace weir::internal {

/// Costs one atomic exchange, and a system call only if the other thread has begun to wait.
class Arrival {
 public:
  /// Call it once. Unless a thread waits, nothing of the arrival is touched once it is visible, so
  /// that the other thread may destroy it at once.
  void Announce() {
    void* const waiter = state_.exchange(this, std::memory_order_acq_rel);
    if (waiter != nullptr) static_cast<Waiter*>(waiter)->Wake();
  }

  bool Happened() const { return state_.load(std::memory_order_acquire) == this; }

  void Wait() {
    if (Happened()) return;
    Waiter waiter;
    if (Enlist(waiter)) waiter.Sleep();
  }

  /// Waits until it happened or `readable`, a descriptor, is readable or broken; returns whether
  /// it happened. `wake` is an eventfd with EFD_SEMAPHORE, blocking; several threads may use it. A
  /// signal may end the wait early.
  bool WaitUnlessReadable(int readable, int wake);

 private:
  /// The sleeper destroys it as soon as it has left Sleep or Settle, while Wake may still return:
  /// POSIX allows that of its semaphores (sem_destroy), C++ does not promise it of its own.
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
        while (write(wake_, &one, sizeof(one)) < 0) {  // interrupted by a signal
        }
      }
    }
    void Sleep() {
      while (sem_wait(&woken_) != 0) {  // interrupted by a signal
      }
    }

   private:
    sem_t woken_;
    const int wake_;  ///< written instead of the semaphore, unless negative
  };

  /// False: it happened.
  bool Enlist(Waiter& waiter) {
    void* no_waiter = nullptr;
    return state_.compare_exchange_strong(no_waiter, &waiter, std::memory_order_acq_rel);
  }

  /// Null at first, then a Waiter or not, at last this object itself: it happened.
  std::atomic<void*> state_ = nullptr;
};

}  // namespace weir::internal
