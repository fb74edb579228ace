// Moves the callback of a call to an executor.
#pragma once

#include <utility>

#include "weir/base/done.h"
#include "weir/base/owed_result.h"
#include "weir/runtime/executor.h"

namespace weir {

/// Returns a Done that passes its result to `done` in a task of `executor`, or `done` itself if
/// `executor` is null. An executor that drops the task makes `done` run with kCancelled.
template <class T>
Done<T> RunOn(Executor* executor, Done<T> done) {
  if (executor == nullptr) return done;
  using Owed =
      OwedResult<T, "the call was dropped by the store, a scheduler or the executor of callbacks">;
  return [executor, owed = Owed(std::move(done))](Result<T> result) mutable {
    executor->Post([owed = std::move(owed), result = std::move(result)]() mutable {
      owed(std::move(result));
    });
  };
}

}  // namespace weir
