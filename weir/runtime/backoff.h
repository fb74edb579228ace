// How long to wait before the next try.
#pragma once

#include <cstdint>

#include "weir/base/rng.h"
#include "weir/base/time.h"

namespace weir {

/// Exponential backoff with full jitter: the k-th wait is uniform in [0, min(cap, base * 2^k)]
/// (Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015). A value.
class Backoff {
 public:
  /// After so many `tries` already. REQUIRES: 0 < base <= cap.
  Backoff(nanoseconds base, nanoseconds cap, std::uint32_t tries = 0)
      : base_(base), cap_(cap), tries_(tries) {}
  nanoseconds Next(Rng& rng);
  /// After a success.
  void Reset() { tries_ = 0; }
  std::uint32_t tries() const { return tries_; }

 private:
  nanoseconds base_;
  nanoseconds cap_;
  std::uint32_t tries_;
};

}  // namespace weir
