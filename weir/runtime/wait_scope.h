// A blocking call of this thread, and the work that the thread can do while it waits.
#pragma once

#include <memory>

#include "weir/runtime/arrival.h"

namespace weir {

/// Work that goes on when a descriptor becomes readable. The thread that waits for its result does
/// it itself, which saves the hand-over from a loop's thread.
class WaiterWork {
 public:
  virtual ~WaiterWork() = default;
  virtual int readable() const = 0;
  /// An eventfd as Arrival::WaitUnlessReadable takes it; it ends the wait for `readable`.
  virtual int wake() const = 0;
  /// Does what can be done without blocking. False: the work has ended, or another thread does it.
  virtual bool Continue() = 0;
  /// The thread does no more of it: another thread must, from now on. Called at most once, as the
  /// last call. No effect on work that has ended.
  virtual void HandOver() = 0;
};

/// One call of Await or AwaitAll, from before its operation starts until its result is there. It
/// lives on the stack of the thread that waits. Scopes nest: work that the outer one had is handed
/// over before the inner one waits.
class WaitScope {
 public:
  /// `awaited` must outlive it; null: it takes no work.
  explicit WaitScope(internal::Arrival* awaited);
  /// Hands over what is left.
  ~WaitScope();
  WaitScope(const WaitScope&) = delete;
  WaitScope& operator=(const WaitScope&) = delete;

  /// Until `awaited` happened.
  void Wait();

  /// Whether the calling thread is inside a scope that waits for a result, which is not there yet,
  /// and has no work. Then Give is allowed.
  static bool TakesWork();
  static void Give(std::unique_ptr<WaiterWork> work);

 private:
  void HandOver();

  internal::Arrival* const awaited_;
  WaitScope* const outer_;
  std::unique_ptr<WaiterWork> work_;
};

}  // namespace weir
