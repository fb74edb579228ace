// How many connections may be begun, and when.
#pragma once

#include <algorithm>
#include <cstddef>

#include "weir/base/time.h"

namespace weir::internal {

/// One endpoint that refuses or closes connections gets one connection at a time, with pauses
/// that double; otherwise up to kMostAtOnce are made at once. Not thread-safe.
class ConnectPace {
 public:
  static constexpr std::size_t kMostAtOnce = 16;
  static constexpr nanoseconds kFirstPause = milliseconds(50);
  static constexpr nanoseconds kLongestPause = milliseconds(1'000);

  /// The number of connections that may be in the making.
  std::size_t MostAt(Instant now) const {
    if (pause_ == nanoseconds(0)) return kMostAtOnce;
    return now < next_ ? 0 : 1;
  }
  /// Before it, none is begun.
  Instant next() const { return next_; }
  void Begun(Instant now) {
    if (pause_ == nanoseconds(0)) return;
    next_ = now + pause_;
    probes_ = true;
  }

  /// A connection was refused, or closed before it returned a response. Several that were begun
  /// together are one failure.
  void Failed(Instant now) {
    if (now < next_ && !probes_) return;
    probes_ = false;
    pause_ = std::clamp(2 * pause_, kFirstPause, kLongestPause);
    next_ = now + pause_;
  }
  void Answered() { *this = {}; }

 private:
  nanoseconds pause_{0};
  Instant next_{INT64_MIN};
  bool probes_ = false;  ///< one was begun after the last failure
};

}  // namespace weir::internal
