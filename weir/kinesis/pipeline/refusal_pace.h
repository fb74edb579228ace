// The pace of requests while the service refuses each of them for its content.
#pragma once

#include <optional>

#include "weir/base/rng.h"
#include "weir/base/time.h"
#include "weir/runtime/backoff.h"

namespace weir::kinesis {

/// Without I/O; not thread-safe. A request that is refused for its content is halved until the
/// entry at fault is alone. If every request is refused, the stream or the client is at fault, and
/// halving all requests would only add load. So after kMaxRefusals in a row requests are sent one
/// at a time, after random waits that grow to kLongest. The first request that the service accepts
/// ends this pace.
class RefusalPace {
 public:
  static constexpr int kMaxRefusals = 32;
  static constexpr nanoseconds kFirst = milliseconds(10);
  static constexpr nanoseconds kLongest = milliseconds(100);

  /// Notes that a request was refused for its content.
  void OnRefused(Instant now, Rng& rng) {
    if (++refusals_ >= kMaxRefusals) next_ = now + backoff_.Next(rng);
  }
  /// Notes that the service accepted the content of a request.
  void OnAccepted() {
    refusals_ = 0;
    next_.reset();
    backoff_.Reset();
  }
  /// Returns whether requests must be sent one at a time, each not before next().
  bool is_slow() const { return next_.has_value(); }
  /// REQUIRES: is_slow().
  Instant next() const { return *next_; }

 private:
  int refusals_ = 0;
  std::optional<Instant> next_;
  Backoff backoff_{kFirst, kLongest};
};

}  // namespace weir::kinesis
