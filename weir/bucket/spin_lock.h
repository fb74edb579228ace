// A lock of four bytes for critical sections of some ten nanoseconds.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

#include "weir/base/mutex.h"

namespace weir {

/// Waits by spinning, and yields the processor if the wait is long. Hold it for a few memory
/// accesses only; use a Mutex for everything else.
class WEIR_THREAD_ANNOTATION(capability("mutex")) SpinLock {
 public:
  void lock() WEIR_THREAD_ANNOTATION(acquire_capability()) {
    if (taken_.exchange(1, std::memory_order_acquire) != 0) [[unlikely]] {
      Wait();
    }
  }
  void unlock() WEIR_THREAD_ANNOTATION(release_capability()) {
    taken_.store(0, std::memory_order_release);
  }

 private:
  // Reads until the lock is free before it writes again: threads that wait then share the cache
  // line and do not slow the holder down.
  void Wait() {
    for (int spins = 1;; ++spins) {
      if (taken_.load(std::memory_order_relaxed) == 0 &&
          taken_.exchange(1, std::memory_order_acquire) == 0) {
        return;
      }
      // The holder may have been descheduled.
      if (spins % 128 == 0) std::this_thread::yield();
    }
  }

  std::atomic<std::uint32_t> taken_{0};
};

/// Holds a SpinLock for a scope.
class WEIR_THREAD_ANNOTATION(scoped_lockable) SpinLockHold {
 public:
  explicit SpinLockHold(SpinLock& lock) WEIR_THREAD_ANNOTATION(acquire_capability(lock))
      : lock_(lock) {
    lock_.lock();
  }
  ~SpinLockHold() WEIR_THREAD_ANNOTATION(release_capability()) { lock_.unlock(); }
  SpinLockHold(const SpinLockHold&) = delete;
  SpinLockHold& operator=(const SpinLockHold&) = delete;

 private:
  SpinLock& lock_;
};

}  // namespace weir
