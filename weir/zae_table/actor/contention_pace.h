// When, and with how many takes, the actor of a bucket writes after writes that failed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weir/base/time.h"

namespace weir::dynamo {

/// When the next write may be sent, and how many takes it may carry. Every `draw` is a random
/// number. A value; not thread-safe.
class ContentionPace {
 public:
  void OnApplied() { *this = ContentionPace(); }
  /// The condition of a write failed.
  void OnFailed() { ++failed_; }
  /// A write with this number of parts failed because of another process's write. `takes_less`:
  /// fewer takes may fit.
  void OnLost(std::size_t parts, bool takes_less, Instant now, std::uint64_t draw);
  /// A request to the table failed, was throttled or has no response: pauses for half to all of a
  /// time that doubles from 25 to 400 ms.
  void Pause(Instant now, std::uint64_t draw);

  Instant paused_until() const { return until_; }
  std::size_t max_takes() const { return max_takes_; }
  /// The number of writes whose conditions have failed since a write was last applied; lost(): the
  /// number of those that failed because of other processes.
  int failed() const { return failed_; }
  int lost() const { return lost_; }

 private:
  static constexpr std::size_t kMaxTakes = 256;

  int failed_ = 0;
  int lost_ = 0;
  int pauses_ = 0;
  std::size_t max_takes_ = kMaxTakes;
  Instant until_{INT64_MIN};
};

}  // namespace weir::dynamo
