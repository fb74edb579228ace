// Calls that block, made one after the other on a thread of their own, and answered in time.
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

/// Makes calls on `worker`, which they may block, in the order in which they came. A call whose
/// deadline passes is answered kDeadlineExceeded on `timers`: it is not made if its turn had not
/// come, else it goes on and its result is lost. At most `most` calls wait or run; further ones are
/// kUnavailable. `name` begins each message. Both schedulers must outlive the calls, and it must
/// outlive the tasks on both. Thread-safe.
class BlockingCalls {
 public:
  BlockingCalls(Scheduler& worker, Scheduler& timers, std::string name, std::size_t most)
      : worker_(worker), timers_(timers), name_(std::move(name)), most_(most) {}

  /// `call` blocks and returns a Result<T>.
  template <class T, class Call>
  void Run(Deadline deadline, Call call, Done<T> done) {
    if (Status place = Enter(); !place) return done(Fail(std::move(place.error())));
    auto answer = std::make_shared<Answer<T>>(std::move(done));
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
      Leave();
      if (Done<T> waiting = answer->Take().first) waiting(*std::move(result));
    });
  }

 private:
  /// Who is first, the result or the deadline, takes it.
  template <class T>
  class Answer {
   public:
    explicit Answer(Done<T> done) : done_(std::move(done)) {}
    /// False: it was answered, so that the call is not to be made.
    bool Begin() {
      const MutexLock lock(mutex_);
      begun_ = done_ != nullptr;
      return begun_;
    }
    /// What is to be answered, empty if it was taken, and whether the call was begun.
    std::pair<Done<T>, bool> Take() {
      const MutexLock lock(mutex_);
      return {std::exchange(done_, nullptr), begun_};
    }

   private:
    Mutex mutex_;
    Done<T> done_ WEIR_GUARDED_BY(mutex_);
    bool begun_ WEIR_GUARDED_BY(mutex_) = false;
  };

  Status Enter();
  void Leave();
  Error TooLate(bool begun) const;

  Scheduler& worker_;
  Scheduler& timers_;
  const std::string name_;
  const std::size_t most_;
  Mutex mutex_;
  std::size_t count_ WEIR_GUARDED_BY(mutex_) = 0;  // of calls that wait or run
};

}  // namespace weir
