// A thread that waits for descriptors and for a time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <unordered_map>
#include <vector>

#include "weir/base/mutex.h"
#include "weir/base/result.h"
#include "weir/base/time.h"

namespace weir::internal {

/// Called on the loop's thread when the descriptor has become readable, writable or broken.
/// Occasionally called without such a change.
class IoHandler {
 public:
  virtual ~IoHandler() = default;
  virtual void OnReady() = 0;
};

/// Thread-safe. Calls handlers, tasks and `on_time` one after the other on a thread of its own,
/// under no lock.
class IoLoop {
 public:
  using Task = std::move_only_function<void()>;

  /// `on_time` runs at the time of WakeAt. `clock` must be monotonic like the machine's clock,
  /// and outlive the loop. Returns kUnavailable if the system has no descriptor or thread.
  static Result<std::unique_ptr<IoLoop>> Start(const Clock& clock, Task on_time);
  ~IoLoop();
  IoLoop(const IoLoop&) = delete;
  IoLoop& operator=(const IoLoop&) = delete;

  /// Waits for the current callback and joins the thread; later callbacks never run. To be called
  /// once, before the destructor, and not on the loop's thread.
  void Stop();

  /// Stores `handler` and calls it at each change of the descriptor (edge-triggered) until Unwatch;
  /// at once if the descriptor is already readable or writable. Returns false if the system
  /// refuses, for example because it is out of memory.
  bool Watch(int descriptor, std::shared_ptr<IoHandler> handler);
  /// If this is called on another thread than the loop's, a call of the handler may still be in
  /// progress afterwards, or begin.
  void Unwatch(int descriptor);
  void Post(Task task);
  /// Sets the time of `on_time`, instead of the previous one.
  void WakeAt(Instant at);

 private:
  IoLoop(const Clock& clock, Task on_time, int epoll, int wake);
  /// The thread's function.
  void Run();
  /// Calls the handler of a descriptor, or the posted tasks.
  void DispatchEvent(int descriptor);
  void RunPosted();
  /// Calls `on_time` if its time has come. Returns the time until which to wait; nothing if the
  /// loop must stop.
  std::optional<Instant> RunDue();
  int MillisTo(Instant until) const;
  /// Ends the thread's current or next wait.
  void Wake();

  const Clock& clock_;
  Task on_time_;
  const int epoll_;
  const int wake_;
  Mutex mutex_;
  std::unordered_map<int, std::shared_ptr<IoHandler>> handlers_ WEIR_GUARDED_BY(mutex_);
  std::vector<Task> posted_ WEIR_GUARDED_BY(mutex_);
  Instant wake_at_ WEIR_GUARDED_BY(mutex_){INT64_MAX};
  bool stopping_ WEIR_GUARDED_BY(mutex_) = false;
  std::thread thread_;  ///< uses all members above
};

}  // namespace weir::internal
