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

/// Starts tasks in the order in which they were posted, each on the first free thread. With one
/// thread, tasks run one after the other.
///
/// The destructor lets the running tasks finish, joins the threads, and destroys the other tasks
/// unrun. It must not be called from a task. A task that is posted during destruction is destroyed
/// unrun as well.
class ThreadPool final : public Executor {
 public:
  /// REQUIRES: threads >= 1.
  explicit ThreadPool(std::size_t threads);
  ~ThreadPool() override;
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  void Post(Task task) override WEIR_EXCLUDES(mutex_);

 private:
  /// The body of each thread.
  void Run();
  /// Blocks until there is a task. Returns nothing once the pool stops.
  std::optional<Task> Take() WEIR_EXCLUDES(mutex_);

  Mutex mutex_;
  std::condition_variable_any wake_;
  std::deque<Task> tasks_ WEIR_GUARDED_BY(mutex_);
  bool stopping_ WEIR_GUARDED_BY(mutex_) = false;
  // The last member, because the threads use all of the above as soon as they start.
  std::vector<std::thread> threads_;
};

}  // namespace weir
