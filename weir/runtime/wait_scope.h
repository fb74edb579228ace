// A blocking call of this thread, and the work that the thread can do while it waits.
#pragma once

#include <memory>

#include "weir/base/api.h"
#include "weir/runtime/arrival.h"

namespace weir {

/// Work that continues when a descriptor becomes readable. The thread that waits for the result
/// does the work itself, which saves a hand-over from a loop's thread.
class WEIR_API WaiterWork {
 public:
  virtual ~WaiterWork() = default;
  /// Returns the descriptor to wait for.
  virtual int readable() const = 0;
  /// Returns an eventfd as for Arrival::WaitUnlessReadable; it ends the wait for `readable`.
  virtual int wake() const = 0;
  /// Does the part of the work that does not block. Returns false if the work has ended, or another
  /// thread has taken it over.
  virtual bool Continue() = 0;
  /// Ends the work of this thread: another thread must do the rest. Called at most once, as the
  /// last call. Has no effect on work that has ended.
  virtual void HandOver() = 0;
};

/// One call of Await or AwaitAll, from before its operation starts until it has a result. A scope
/// lives on the stack of the waiting thread. Scopes nest: the work of the outer one is handed over
/// before the inner one waits.
class WEIR_API WaitScope {
 public:
  /// `awaited` must outlive the scope. With null, the scope takes no work.
  explicit WaitScope(internal::Arrival* awaited);
  /// Hands over the work that is left.
  ~WaitScope();
  WaitScope(const WaitScope&) = delete;
  WaitScope& operator=(const WaitScope&) = delete;

  /// Blocks until `awaited` has happened, and does the scope's work meanwhile.
  void Wait();

  /// Returns true if the innermost scope of the calling thread waits for a result, has none yet,
  /// and has no work. Then GiveWork is allowed.
  static bool AcceptsWork();
  /// Gives the innermost scope of the calling thread its work. REQUIRES: AcceptsWork().
  static void GiveWork(std::unique_ptr<WaiterWork> work);

 private:
  void HandOver();

  internal::Arrival* const awaited_;
  WaitScope* const outer_;
  std::unique_ptr<WaiterWork> work_;
};

}  // namespace weir
