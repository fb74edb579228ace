// Calls that are made at the same time.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "weir/base/done.h"

namespace weir::dynamo {

/// Runs `start(i, done)` for each i below `count`, at once, and `then(answers)` when all calls are
/// answered, with the answers in the order of i: on the thread of the last answer, or before this
/// returns if that has come by then.
template <class T, class Start, class Then>
void AskAll(std::size_t count, Start start, Then then) {
  struct Asked {
    Asked(std::size_t count, Then next) : answers(count), left(count + 1), then(std::move(next)) {}
    void Finish() {
      if (left.fetch_sub(1, std::memory_order_acq_rel) == 1) then(std::move(answers));
    }

    std::vector<Result<T>> answers;
    std::atomic<std::size_t> left;  // and one for the loop below
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
