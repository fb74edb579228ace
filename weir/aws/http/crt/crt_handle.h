// Handles for the C runtime's objects, strings and shutdowns, for the other files of this module.
#pragma once

#include <aws/common/byte_buf.h>

#include <condition_variable>
#include <memory>
#include <string>
#include <string_view>

#include "weir/base/mutex.h"

namespace weir::internal {

template <auto Release>
struct CrtReleaser {
  template <class T>
  void operator()(T* object) const {
    Release(object);
  }
};

/// One reference to an object of the runtime, released by its own release function.
template <class T, auto Release>
using CrtHandle = std::unique_ptr<T, CrtReleaser<Release>>;

/// Borrows the text for a call; the runtime never writes to it.
inline aws_byte_cursor Cursor(std::string_view text) {
  return aws_byte_cursor_from_array(text.data(), text.size());
}

inline std::string_view View(aws_byte_cursor bytes) {
  return {reinterpret_cast<const char*>(bytes.ptr), bytes.len};
}

/// Converts ASCII only; header names have no other characters.
std::string LowerCase(std::string_view text);

/// Returns the runtime's text and name of an error code, on one line.
std::string CrtError(int error_code);
/// Returns the text and name of this thread's last error, on one line.
std::string LastCrtError();

/// Signals that an object of the runtime has shut down, which the runtime reports on a thread of
/// its own.
class ShutdownSignal {
 public:
  /// A callback of the runtime: `signal` is a ShutdownSignal.
  static void Raise(void* signal) {
    auto& self = *static_cast<ShutdownSignal*>(signal);
    // Notify under the lock, so that the waiter cannot destroy this object before the lock is free.
    const MutexLock lock(self.mutex_);
    self.raised_ = true;
    self.wake_.notify_all();
  }
  void Wait() {
    MutexLock lock(mutex_);
    while (!raised_) wake_.wait(mutex_);
  }

 private:
  Mutex mutex_;
  std::condition_variable_any wake_;
  bool raised_ WEIR_GUARDED_BY(mutex_) = false;
};

}  // namespace weir::internal
