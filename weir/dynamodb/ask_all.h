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
/// thread on which the last call completes, or on this thread before AskAll returns, if all calls
/// have completed by then.
template <class T, class Start, class Then>
void AskAll(std::size_t count, Start start, Then then) {
  struct Asked {
    Asked(std::size_t count, Then next) : answers(count), left(count + 1), then(std::move(next)) {}
    void Finish() {
      if (left.fetch_sub(1, std::memory_order_acq_rel) == 1) then(std::move(answers));
    }

    std::vector<Result<T>> answers;
    // Calls that have not completed, and one for the loop below: without it, `then` could run while
    // calls are still being started.
    std::atomic<std::size_t> left;
    Then then;
  };
  const auto asked = std::make_shared<Asked>(count, std::move(then));
  for (std::size_t i = 0; i < count; ++i) {
    start(i, Done<T>([asked, i](Result<T> answer) {
            asked->answers[i] = std::move(answer);
            asked->Finish();
          }));
  }
  asked->Finish();
}

}  // namespace weir::dynamo
