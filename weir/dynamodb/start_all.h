// Starts a number of asynchronous calls at once, and collects their results.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "weir/base/done.h"

namespace weir::dynamo {

/// Runs `start(i, done)` for each i below `count`, on this thread. Runs `then(results)` once, when
/// all `count` calls have completed, with their results in the order of i. `then` runs on the
/// thread on which the last call completes, or on this thread before StartAll returns, if all calls
/// have completed by then.
template <class T, class Start, class Then>
void StartAll(std::size_t count, Start start, Then then) {
  struct StartedCalls {
    StartedCalls(std::size_t count, Then next)
        : results(count), left(count + 1), then(std::move(next)) {}
    void CompleteOne() {
      if (left.fetch_sub(1, std::memory_order_acq_rel) == 1) then(std::move(results));
    }

    std::vector<Result<T>> results;
    // Calls that have not completed, and one for the loop below: without it, `then` could run while
    // calls are still being started.
    std::atomic<std::size_t> left;
    Then then;
  };
  const auto calls = std::make_shared<StartedCalls>(count, std::move(then));
  for (std::size_t i = 0; i < count; ++i) {
    start(i, Done<T>([calls, i](Result<T> result) {
            calls->results[i] = std::move(result);
            calls->CompleteOne();
          }));
  }
  calls->CompleteOne();
}

}  // namespace weir::dynamo
