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

/// Makes calls on `worker`, which they may block, in the order of Run. If the deadline of a call
/// passes, it completes with kDeadlineExceeded on `timers`: it is not made if it had not begun,
/// otherwise it continues and its result is discarded. At most `most` calls are queued or running,
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
    if (Status place = Admit(); !place) return done(Fail(std::move(place.error())));
    auto answer = std::make_shared<PendingCompletion<T>>(std::move(done));
    std::optional<TimerId> timer;
    if (!deadline.is_never()) {
      timer = timers_.At(deadline.at(), [this, answer] {
        auto [late, begun] = answer->Take();
        if (late) late(Fail(TooLate(begun)));
      });
    }
    worker_.Post([this, answer, timer, call = std::move(call)]() mutable {
      std::optional<Result<T>> result;
      if (answer->Begin()) result.emplace(call());
      if (timer) timers_.Cancel(*timer);
      Release();
      if (Done<T> waiting = answer->Take().first) waiting(*std::move(result));
    });
  }

 private:
  /// The completion of one call. The first of the result and the deadline takes `done`.
  template <class T>
  class PendingCompletion {
   public:
    explicit PendingCompletion(Done<T> done) : done_(std::move(done)) {}
    /// Marks the call as begun. Returns false if it has completed already, so that it must not be
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

  /// Counts one more call. Returns kUnavailable if there are `most` already.
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
