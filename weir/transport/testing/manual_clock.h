// A clock that a test moves, for loops with threads.
#pragma once

#include <atomic>

#include "weir/base/time.h"

namespace weir::transport {

/// Thread-safe. A loop notices a move at its next task.
class ManualClock final : public Clock {
 public:
  Instant Now() const override { return Instant{now_.load()}; }
  UnixMillis WallNow() const override { return UnixMillis{1'767'225'600'013}; }
  void Advance(nanoseconds by) { now_ += by.count(); }

 private:
  std::atomic<std::int64_t> now_ = 86'400'000'000'007;
};

}  // namespace weir::transport
