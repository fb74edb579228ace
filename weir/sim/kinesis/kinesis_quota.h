// The rate limits of one shard of a simulated stream. The arithmetic is slow and simple, and
// deliberately not that of the limiter that it tests.
#pragma once

#include <cstdint>

#include "weir/base/time.h"

namespace weir::sim {

struct KinesisLimits {
  /// Kinesis' limits of one shard (developer guide, "Quotas and limits"): records, and bytes of
  /// data and partition keys.
  std::int64_t records_per_second = 1000;
  std::int64_t bytes_per_second = 1 << 20;
  /// Counts from zero in each whole second of the clock. Otherwise a bucket is used that holds the
  /// records and bytes of one second, starts full and is refilled by the nanosecond.
  bool fixed_windows = false;
};

// The remaining records and bytes of one shard. Not thread-safe.
class ShardQuota {
 public:
  ShardQuota(const KinesisLimits& limits, Instant now);

  /// Takes one record, or returns false and takes nothing. A record larger than the bytes of a
  /// second passes if none of that second's bytes are used; the rest is a debt.
  bool Take(std::int64_t bytes, Instant now);

 private:
  __extension__ using Wide = __int128;

  // Refills up to `now`.
  void BringTo(Instant now);

  KinesisLimits limits_;
  Instant at_;
  Wide records_;  ///< the remaining records, in billionths
  Wide bytes_;    ///< the remaining bytes, in billionths
};

}  // namespace weir::sim
