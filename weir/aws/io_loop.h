// A thread that waits for descriptors and for instants.
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

/// Called on the loop's thread when the descriptor became readable, writable or broken, and now and
/// then without a reason.
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

  /// `on_time` runs at the instant of WakeAt. `clock` is monotonic as the machine's, and outlives
  /// the loop. kUnavailable: the system gives no descriptor or no thread.
  static Result<std::unique_ptr<IoLoop>> Start(const Clock& clock, Task on_time);
  ~IoLoop();
  IoLoop(const IoLoop&) = delete;
  IoLoop& operator=(const IoLoop&) = delete;

  /// Lets what runs finish and joins the thread; the rest never runs. Once, before the destructor,
  /// and not from the loop's thread.
  void Stop();

  /// Keeps `handler`, and calls it at each change (edge) until Unwatch or, if it is already
  /// readable or writable, at once. False: the system refuses, for example for want of memory.
  bool Watch(int descriptor, std::shared_ptr<IoHandler> handler);
  /// A call of the handler may be in progress or begin, if it does not come from the loop's thread.
  void Unwatch(int descriptor);
  void Post(Task task);
  /// Instead of the instant that was set before.
  void WakeAt(Instant at);

 private:
  IoLoop(const Clock& clock, Task on_time, int epoll, int wake);
  void Run();
  void Dispatch(int descriptor);
  void RunPosted();
  /// Calls `on_time` if it is time. Returns until when to wait; nothing: the loop stops.
  std::optional<Instant> RunDue();
  int MillisTo(Instant until) const;
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
  std::thread thread_;  ///< uses all of the above
};

}  // namespace weir::internal
