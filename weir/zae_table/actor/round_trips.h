// The usual duration of a request, from the latest requests of a process.
#pragma once

#include <array>
#include <cstddef>
#include <optional>

#include "weir/base/mutex.h"
#include "weir/base/time.h"

namespace weir::dynamo {

/// The median of the latest round trips. Thread-safe.
class RoundTrips {
 public:
  /// Adds the duration of a request that ended at `now`.
  void Add(nanoseconds duration, Instant now);
  /// Returns nothing if no request ended in the last second: the network may have changed.
  std::optional<nanoseconds> Median(Instant now) const;

 private:
  static constexpr std::size_t kKept = 15;
  static constexpr nanoseconds kValid = std::chrono::seconds(1);

  mutable Mutex mutex_;
  std::array<nanoseconds, kKept> latest_ WEIR_GUARDED_BY(mutex_){};
  // The number of durations added since the last pause of more than kValid.
  std::size_t added_ WEIR_GUARDED_BY(mutex_) = 0;
  std::optional<Instant> last_end_ WEIR_GUARDED_BY(mutex_);  // the end of the latest request
  nanoseconds median_ WEIR_GUARDED_BY(mutex_){0};
};

}  // namespace weir::dynamo
