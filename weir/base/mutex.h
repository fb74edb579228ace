// std::mutex with the annotations that let clang's -Wthread-safety check which lock guards what
// (libstdc++'s own carries none; after leveldb's port_stdcxx.h).
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

/// Also a BasicLockable, so that std::condition_variable_any can wait on it.
class WEIR_THREAD_ANNOTATION(capability("mutex")) Mutex {
 public:
  void lock() WEIR_THREAD_ANNOTATION(acquire_capability()) { mutex_.lock(); }
  void unlock() WEIR_THREAD_ANNOTATION(release_capability()) { mutex_.unlock(); }
  bool try_lock() WEIR_THREAD_ANNOTATION(try_acquire_capability(true)) { return mutex_.try_lock(); }

 private:
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
