// The sweep that removes full buckets when a request needs space for another one. Mechanism:
// docs/design/store.md.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>

#include "weir/base/mutex.h"
#include "weir/base/time.h"
#include "weir/store/bucket/bucket_stripe.h"

namespace weir {

class AheadReport;

/// Examines the buckets of a table part by part, and goes from stripe to stripe. Inside a stripe,
/// it follows the stripe's sweep_index; the sweeps of other requests move this index, too. So a
/// round examines every bucket, whatever is added meanwhile. (A bucket that is moved because
/// another one is removed may be examined in the next round.) After a round that removed no bucket,
/// the sweep pauses for a second. Thread-safe.
class SpaceSweep {
 public:
  using Stripes = std::span<const std::unique_ptr<BucketStripe>>;
  /// The part of the sweep that one request makes.
  struct Part {
    std::size_t wanted;        ///< the part ends when it has removed this many buckets
    std::size_t max_examined;  ///< the part ends when it has examined this many buckets
    SweepTimes times;
  };
  struct Swept {
    std::size_t examined = 0;
    std::size_t removed = 0;
    bool has_changes = false;  ///< the next drain has something to report
  };
  /// Continues the sweep, unless another call does so at present. `size` is the number of buckets
  /// of all stripes; the removed ones are subtracted. REQUIRES: the caller holds no lock of a
  /// stripe.
  Swept Continue(Stripes stripes, std::atomic<std::size_t>& size, Part part, AheadReport& report);

 private:
  Swept SweepNow(Stripes stripes, std::atomic<std::size_t>& size, Part& part, AheadReport& report)
      WEIR_REQUIRES(mutex_);
  /// Sweeps up to `most` buckets of the present stripe, and goes to the next stripe at its end.
  Swept SweepStripe(Stripes stripes, std::size_t most, SweepTimes& times, AheadReport& report)
      WEIR_REQUIRES(mutex_);

  Mutex mutex_;
  std::size_t stripe_ WEIR_GUARDED_BY(mutex_) = 0;
  /// The buckets to examine before the next stripe; 0: all.
  std::size_t left_in_stripe_ WEIR_GUARDED_BY(mutex_) = 0;
  std::size_t fruitless_ WEIR_GUARDED_BY(mutex_) = 0;  ///< examined since the last removal
  std::optional<UnixMillis> paused_at_ WEIR_GUARDED_BY(mutex_);
};

}  // namespace weir
