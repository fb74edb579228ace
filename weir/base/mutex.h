// A mutex with the annotations that clang's -Wthread-safety checks. (libstdc++'s std::mutex has
// none; the annotations follow leveldb's port_stdcxx.h.)
#pragma once

#include <mutex>

#if defined(__clang__)
#define WEIR_THREAD_ANNOTATION(x) __attribute__((x))
#else
#define WEIR_THREAD_ANNOTATION(x)
#endif

#define WEIR_GUARDED_BY(x) WEIR_THREAD_ANNOTATION(guarded_by(x))
#define WEIR_REQUIRES(...) WEIR_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))
#define WEIR_EXCLUDES(...) WEIR_THREAD_ANNOTATION(locks_excluded(__VA_ARGS__))
#define WEIR_NO_THREAD_SAFETY_ANALYSIS WEIR_THREAD_ANNOTATION(no_thread_safety_analysis)

namespace weir {

/// Hints to the processor that this thread spins.
inline void SpinPause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// A mutex for short critical sections. It spins a little before it sleeps, because these sections
/// take a fraction of the time that the kernel needs to put a thread to sleep and to wake it. It is
/// also a BasicLockable, so that std::condition_variable_any can wait on it.
class WEIR_THREAD_ANNOTATION(capability("mutex")) Mutex {
 public:
  void lock() WEIR_THREAD_ANNOTATION(acquire_capability()) {
    for (int spins = 0; spins < kSpins; ++spins) {
      if (mutex_.try_lock()) return;
      SpinPause();
    }
    mutex_.lock();
  }
  void unlock() WEIR_THREAD_ANNOTATION(release_capability()) { mutex_.unlock(); }
  bool try_lock() WEIR_THREAD_ANNOTATION(try_acquire_capability(true)) { return mutex_.try_lock(); }

 private:
  static constexpr int kSpins = 100;
  std::mutex mutex_;
};

/// Holds a Mutex for a scope.
class WEIR_THREAD_ANNOTATION(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) WEIR_THREAD_ANNOTATION(acquire_capability(mutex))
      : mutex_(mutex) {
    mutex_.lock();
  }
  ~MutexLock() WEIR_THREAD_ANNOTATION(release_capability()) { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

}  // namespace weir
