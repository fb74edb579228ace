// Blocks for the answer of a call that takes a Done: the bridge from callbacks to plain code.
#pragma once

#include <semaphore.h>

#include <atomic>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "weir/base/done.h"

namespace weir {
namespace internal {

/// That something happened, told by one thread to one other. Costs one atomic exchange, and a
/// semaphore only where the other has begun to wait.
class Arrival {
 public:
  /// Call it once. Unless a thread waits, nothing of the arrival is touched once it is visible, so
  /// that the other thread may destroy it at once.
  void Announce() {
    void* const waiter = state_.exchange(this, std::memory_order_acq_rel);
    if (waiter != nullptr) static_cast<Waiter*>(waiter)->Wake();
  }

  void Wait() {
    if (state_.load(std::memory_order_acquire) == this) return;
    Waiter waiter;
    void* nobody = nullptr;
    if (state_.compare_exchange_strong(nobody, &waiter, std::memory_order_acq_rel)) waiter.Sleep();
  }

 private:
  /// The sleeper destroys it as soon as it has left Sleep, while Wake may still return: POSIX
  /// allows that of its semaphores (sem_destroy), C++ does not promise it of its own.
  class Waiter {
   public:
    Waiter() { sem_init(&woken_, 0, 0); }
    ~Waiter() { sem_destroy(&woken_); }
    Waiter(const Waiter&) = delete;
    Waiter& operator=(const Waiter&) = delete;
    void Wake() { sem_post(&woken_); }
    void Sleep() {
      while (sem_wait(&woken_) != 0) {  // interrupted by a signal
      }
    }

   private:
    sem_t woken_;
  };

  /// Null at first, then a Waiter or not, at last this object itself: it happened.
  std::atomic<void*> state_ = nullptr;
};

template <class T>
struct Awaited {
  std::optional<Result<T>> result;
  Arrival arrival;

  void Answer(Result<T> answer) {
    result.emplace(std::move(answer));
    arrival.Announce();
  }
};

/// The Done of an Await. Dropped unrun, it answers for itself, so that the waiter goes on.
template <class T>
class AwaitedDone {
 public:
  explicit AwaitedDone(Awaited<T>& awaited) : awaited_(&awaited) {}
  AwaitedDone(AwaitedDone&& other) noexcept : awaited_(std::exchange(other.awaited_, nullptr)) {}
  AwaitedDone& operator=(AwaitedDone&&) = delete;
  ~AwaitedDone() {
    if (awaited_ != nullptr) awaited_->Answer(Fail(Code::kCancelled, "the call was dropped"));
  }
  void operator()(Result<T> answer) { std::exchange(awaited_, nullptr)->Answer(std::move(answer)); }

 private:
  Awaited<T>* awaited_;
};

}  // namespace internal

/// Calls `start` with a Done<T> and returns what that is given, blocking until then. Nothing blocks
/// where the answer is there when `start` returns. kCancelled if the Done is destroyed unrun, as by
/// a Loop that is destroyed. The wait has no end of its own: pass a Deadline to what is called.
/// Not from a task of the scheduler that the answer needs.
///
///   Result<Decision> d = Await<Decision>([&](Done<Decision> done) {
///     store.Acquire(charges, now, deadline, std::move(done));
///   });
template <class T, class Start>
Result<T> Await(Start&& start) {
  internal::Awaited<T> awaited;
  std::forward<Start>(start)(Done<T>(internal::AwaitedDone<T>(awaited)));
  awaited.arrival.Wait();
  return *std::move(awaited.result);
}

/// As `count` Awaits at once: `start` is called with 0, 1, .. and a Done<T> each, on this thread.
/// Returns their results in that order, when all are there.
template <class T, class Start>
std::vector<Result<T>> AwaitAll(std::size_t count, Start&& start) {
  std::vector<internal::Awaited<T>> awaited(count);
  for (std::size_t i = 0; i < count; ++i) start(i, Done<T>(internal::AwaitedDone<T>(awaited[i])));
  std::vector<Result<T>> results;
  results.reserve(count);
  for (internal::Awaited<T>& each : awaited) {
    each.arrival.Wait();
    results.push_back(*std::move(each.result));
  }
  return results;
}

}  // namespace weir
