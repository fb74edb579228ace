// The waiting time between retries.
#pragma once

#include <cstdint>

#include "weir/base/api.h"
#include "weir/base/rng.h"
#include "weir/base/time.h"

namespace weir {

/// Exponential backoff with full jitter: the k-th wait is uniform in [0, min(cap, base * 2^k)]
/// (Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015). Copyable; not
/// thread-safe.
class WEIR_API Backoff {
 public:
  /// Continues after `tries` waits. REQUIRES: 0 < base <= cap.
  Backoff(nanoseconds base, nanoseconds cap, std::uint32_t tries = 0)
      : base_(base), cap_(cap), tries_(tries) {}
  /// Returns the next wait, and counts one more try.
  nanoseconds Next(Rng& rng);
  /// Starts again from `base`, after a success.
  void Reset() { tries_ = 0; }
  std::uint32_t tries() const { return tries_; }

 private:
  nanoseconds base_;
  nanoseconds cap_;
  std::uint32_t tries_;
};

}  // namespace weir
