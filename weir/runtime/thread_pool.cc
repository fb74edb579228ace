#include "weir/runtime/thread_pool.h"

#include <utility>

namespace weir {

ThreadPool::ThreadPool(std::size_t threads) {
  threads_.reserve(threads);
  for (std::size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { Run(); });
}

ThreadPool::~ThreadPool() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    wake_.notify_all();
  }
  for (std::thread& thread : threads_) thread.join();
}

void ThreadPool::Post(Task task) {
  const MutexLock lock(mutex_);
  if (stopping_) return;
  tasks_.push_back(std::move(task));
  wake_.notify_one();
}

void ThreadPool::Run() {
  while (std::optional<Task> task = Take()) (*task)();
}

std::optional<Task> ThreadPool::Take() {
  const MutexLock lock(mutex_);
  while (!stopping_ && tasks_.empty()) wake_.wait(mutex_);
  if (stopping_) return std::nullopt;
  std::optional<Task> task = std::move(tasks_.front());
  tasks_.pop_front();
  return task;
}

}  // namespace weir
