// One correction of a lease on its way to the store.
#pragma once

#include <atomic>
#include <utility>
#include <vector>

#include "weir/store/bucket_store.h"

namespace weir {

/// Shared by the lease and by the answer that is to come, which may be given on another thread.
/// Only `state` changes.
struct Adjustment {
  enum class State {
    kUnsettled,  ///< not sent yet, or under way
    kDoubt,      ///< no answer says whether it counts; sent again, it counts once
    kCounts,
    kRefused,  ///< it changed nothing and never will
  };

  Adjustment(std::vector<Charge> by, AdjustToken name) : deltas(std::move(by)), token(name) {}

  const std::vector<Charge> deltas;
  const AdjustToken token;
  std::atomic<State> state = State::kUnsettled;
};

/// What the answer to an adjust says about it.
Adjustment::State StateAfter(const Status& answer);

}  // namespace weir
