// The Executor that is backed by threads of its own.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <optional>
#include <thread>
#include <vector>

#include "weir/base/mutex.h"
#include "weir/runtime/executor.h"

namespace weir {

/// Starts tasks in the order of their posts, each on the first thread that is free. With one thread
/// they run one after the other.
///
/// The destructor lets the tasks that run finish, joins the threads, and destroys the other tasks
/// unrun. It must not be called from a task. A task that is posted meanwhile is destroyed unrun as
/// well.
class ThreadPool final : public Executor {
 public:
  /// REQUIRES: threads >= 1.
  explicit ThreadPool(std::size_t threads);
  ~ThreadPool() override;
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  void Post(Task task) override WEIR_EXCLUDES(mutex_);

 private:
  void Run();
  /// Waits for a task; none once the pool stops.
  std::optional<Task> Take() WEIR_EXCLUDES(mutex_);

  Mutex mutex_;
  std::condition_variable_any wake_;
  std::deque<Task> tasks_ WEIR_GUARDED_BY(mutex_);
  bool stopping_ WEIR_GUARDED_BY(mutex_) = false;
  // Last, because they use all of the above as soon as they are there.
  std::vector<std::thread> threads_;
};

}  // namespace weir
