// Blocks for the result of a call that takes a Done: converts callbacks to plain code.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "weir/base/done.h"
#include "weir/base/owed_result.h"
#include "weir/runtime/arrival.h"
#include "weir/runtime/callback_scope.h"
#include "weir/runtime/wait_scope.h"

namespace weir {
namespace internal {

template <class T>
struct Awaited {
  std::optional<Result<T>> result;
  Arrival arrival;

  void Complete(Result<T>&& outcome) {
    result.emplace(std::move(outcome));
    arrival.Announce();
  }
};

/// Completes an Awaited.
template <class T>
struct AwaitedReceiver {
  Awaited<T>* awaited = nullptr;

  explicit operator bool() const { return awaited != nullptr; }
  void operator()(Result<T>&& result) const { awaited->Complete(std::move(result)); }
};

/// The Done of an Await. If it is dropped, the waiting thread continues.
template <class T>
using AwaitedDone = OwedResult<T, "the call was dropped", AwaitedReceiver<T>>;

/// The result of a blocking call on a thread that runs callbacks.
inline Error BlocksCallbacks() {
  return {
      Code::kFailedPrecondition,
      "a blocking call was made within a callback or a task of a scheduler, where it could wait "
      "for itself; use the form that takes a callback, or another thread"};
}

}  // namespace internal

/// Calls `start` with a Done<T>, blocks until the Done is run, and returns its result. Does not
/// block if the Done was run before `start` returned. Returns kCancelled if the Done is destroyed
/// unrun, for example by a Loop that is destroyed. The wait has no limit of its own: pass a
/// Deadline to the operation. Must not be called from a task of the scheduler that the result
/// depends on (see AwaitUnlessInCallback). While it waits, the thread may do a part of the
/// work itself (WaitScope), including callbacks of other calls that share this work.
///
///   Result<Decision> d = Await<Decision>([&](Done<Decision> done) {
///     store.Acquire(charges, now, deadline, std::move(done));
///   });
template <class T, class Start>
Result<T> Await(Start&& start) {
  internal::Awaited<T> awaited;
  WaitScope scope(&awaited.arrival);
  std::forward<Start>(start)(Done<T>(internal::AwaitedDone<T>({&awaited})));
  scope.Wait();
  return *std::move(awaited.result);
}

/// Like Await, but fails with kFailedPrecondition on a thread that runs callbacks (CallbackScope),
/// and then does not call `start`: for blocking calls of the public interface, which callers may
/// make within a callback by mistake.
template <class T, class Start>
Result<T> AwaitUnlessInCallback(Start&& start) {
  if (CallbackScope::IsActive()) return Fail(internal::BlocksCallbacks());
  return Await<T>(std::forward<Start>(start));
}

/// Runs `count` operations at once, as Await does with one: calls `start` with 0, 1, .. and a
/// Done<T> each, on this thread. Blocks until all have completed, and returns their results in that
/// order.
template <class T, class Start>
std::vector<Result<T>> AwaitAll(std::size_t count, Start&& start) {
  std::vector<internal::Awaited<T>> awaited(count);
  const WaitScope scope(nullptr);
  for (std::size_t i = 0; i < count; ++i)
    start(i, Done<T>(internal::AwaitedDone<T>({&awaited[i]})));
  std::vector<Result<T>> results;
  results.reserve(count);
  for (internal::Awaited<T>& each : awaited) {
    each.arrival.Wait();
    results.push_back(*std::move(each.result));
  }
  return results;
}

}  // namespace weir
