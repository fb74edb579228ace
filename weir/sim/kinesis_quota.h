// What one shard of a simulated stream takes in a second. Its own arithmetic, the slow and obvious
// kind: it judges a limiter that has another.
#pragma once

#include <cstdint>

#include "weir/base/time.h"

namespace weir::sim {

struct KinesisLimits {
  /// Kinesis' limits of one shard (developer guide, "Quotas and limits"): records, and bytes of
  /// data and partition keys.
  std::int64_t records_per_second = 1000;
  std::int64_t bytes_per_second = 1 << 20;
  /// Counts anew in each whole second of the clock. Otherwise a bucket that holds one second's
  /// worth, full at first and refilled by the nanosecond.
  bool fixed_windows = false;
};

/// A value.
class ShardQuota {
 public:
  ShardQuota(const KinesisLimits& limits, Instant now);

  /// One record, all or nothing. What is larger than the whole of a second passes where nothing of
  /// that second is used, and is owed.
  bool Take(std::int64_t bytes, Instant now);

 private:
  __extension__ using Wide = __int128;

  void BringTo(Instant now);

  KinesisLimits limits_;
  Instant at_;
  Wide records_;  ///< what is left, in billionths
  Wide bytes_;    ///< the same
};

}  // namespace weir::sim
