// The number of connections that may be started, and when.
//
//   normal (16 at once) --OnFailed--> pause --next()--> probe (one connection) --response--> normal
//                                     ^                         |
//                                     +--------OnFailed---------+   (twice the pause, up to 1 s)
#pragma once

#include <algorithm>
#include <cstddef>

#include "weir/base/time.h"

namespace weir::internal {

/// While an endpoint refuses or closes connections, one connection is made at a time, with pauses
/// that double; otherwise up to kMaxAtOnce are made at once. Not thread-safe.
class ConnectPace {
 public:
  static constexpr std::size_t kMaxAtOnce = 16;
  static constexpr nanoseconds kFirstPause = milliseconds(50);
  static constexpr nanoseconds kLongestPause = milliseconds(1'000);

  /// The number of connections that may be in the making.
  std::size_t MaxAt(Instant now) const {
    if (pause_ == nanoseconds(0)) return kMaxAtOnce;
    return now < next_ ? 0 : 1;
  }
  /// The earliest time of the next connection.
  Instant next() const { return next_; }
  /// A connection is started. After a failure, further ones wait until `next()`.
  void OnStarted(Instant now) {
    if (pause_ == nanoseconds(0)) return;
    next_ = now + pause_;
    probe_started_ = true;
  }

  /// A connection was refused, or closed before it returned a response. The failures of several
  /// connections that were started together count as one.
  void OnFailed(Instant now) {
    if (now < next_ && !probe_started_) return;
    probe_started_ = false;
    pause_ = std::clamp(2 * pause_, kFirstPause, kLongestPause);
    next_ = now + pause_;
  }
  /// A connection returned a response: the endpoint works again.
  void OnResponse() { *this = {}; }

 private:
  nanoseconds pause_{0};
  Instant next_{INT64_MIN};
  bool probe_started_ = false;  ///< a connection was started after the last failure
};

}  // namespace weir::internal
