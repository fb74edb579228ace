// Makes blocking calls one after the other on a thread of their own, with deadlines.
//
//  Run --> queued --- worker: Begin() ---> running --- call() returns ---> done(result)
//            |                                |
//            | deadline                       | deadline
//            v                                v
//         done(kDeadlineExceeded);         done(kDeadlineExceeded);
//         the call is not made             the result is discarded
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "weir/base/done.h"
#include "weir/base/mutex.h"
#include "weir/runtime/deadline.h"
#include "weir/runtime/scheduler.h"

namespace weir {

/// Makes calls on `worker`, which they may block, in the order of Run. A call whose deadline passes
/// completes with kDeadlineExceeded on `timers`. If the call had not begun, it is not made;
/// otherwise it continues, and its result is discarded. At most `most` calls are queued or running,
/// including those whose deadline has passed; further ones complete with kUnavailable. Each message
/// begins with `name`. Both schedulers must outlive the calls, and this object must outlive the
/// tasks on both. Thread-safe.
class BlockingCalls {
 public:
  BlockingCalls(Scheduler& worker, Scheduler& timers, std::string name, std::size_t most)
      : worker_(worker), timers_(timers), name_(std::move(name)), most_(most) {}

  /// Queues a call. `call` blocks and returns a Result<T>.
  template <class T, class Call>
  void Run(Deadline deadline, Call call, Done<T> done) {
    if (Status admitted = Admit(); !admitted) return done(Fail(std::move(admitted.error())));
    auto completion = std::make_shared<PendingCompletion<T>>(std::move(done));
    std::optional<TimerId> timer;
    if (!deadline.is_never()) {
      timer = timers_.At(deadline.at(), [this, completion] {
        auto [late, begun] = completion->Take();
        if (late) late(Fail(TooLate(begun)));
      });
    }
    worker_.Post([this, completion, timer, call = std::move(call)]() mutable {
      std::optional<Result<T>> result;
      if (completion->Begin()) result.emplace(call());
      if (timer) timers_.Cancel(*timer);
      Release();
      if (Done<T> on_done = completion->Take().first) on_done(*std::move(result));
    });
  }

 private:
  /// The completion of one call. The first of the result and the deadline takes `done`.
  template <class T>
  class PendingCompletion {
   public:
    explicit PendingCompletion(Done<T> done) : done_(std::move(done)) {}
    /// Marks the call as begun. Returns false if the call has completed already and must not be
    /// made.
    bool Begin() {
      const MutexLock lock(mutex_);
      begun_ = done_ != nullptr;
      return begun_;
    }
    /// Returns the callback, empty if it was taken before, and whether the call had begun.
    std::pair<Done<T>, bool> Take() {
      const MutexLock lock(mutex_);
      return {std::exchange(done_, nullptr), begun_};
    }

   private:
    Mutex mutex_;
    Done<T> done_ WEIR_GUARDED_BY(mutex_);
    bool begun_ WEIR_GUARDED_BY(mutex_) = false;
  };

  /// Counts one more call. Returns kUnavailable if `most` calls are counted already.
  Status Admit();
  void Release();
  Error TooLate(bool begun) const;

  Scheduler& worker_;
  Scheduler& timers_;
  const std::string name_;
  const std::size_t most_;
  Mutex mutex_;
  std::size_t count_ WEIR_GUARDED_BY(mutex_) = 0;  // the number of calls that are queued or running
};

}  // namespace weir
