// Combines the drains of several loops into one.
#pragma once

#include <cstddef>
#include <utility>

#include "weir/base/done.h"
#include "weir/base/mutex.h"
#include "weir/base/owed_result.h"
#include "weir/transport/drain_result.h"

namespace weir::transport {

/// Thread-safe. Reports the sum of the results of `parts` drains.
class DrainTally {
 public:
  DrainTally(std::size_t parts, Done<DrainResult> done) : missing_(parts), done_(std::move(done)) {}

  void Add(DrainResult result) WEIR_EXCLUDES(mutex_) {
    DrainResult sum;
    {
      const MutexLock lock(mutex_);
      sum_.ended += result.ended;
      sum_.cut += result.cut;
      if (--missing_ > 0) return;
      sum = sum_;
    }
    done_(sum);
  }

 private:
  Mutex mutex_;
  std::size_t missing_ WEIR_GUARDED_BY(mutex_);
  DrainResult sum_ WEIR_GUARDED_BY(mutex_);
  OwedResult<DrainResult, "the loops ended before the drain"> done_;
};

}  // namespace weir::transport
