// The shards that have responded lately.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstdint>

#include "weir/base/time.h"
#include "weir/kinesis/shards/shard_map.h"

namespace weir::kinesis {

/// Estimates how many shards a stream has, for a stream that cannot be listed. A shard counts for
/// kKept after its last response, so that a closed shard is forgotten. Not thread-safe.
class ShardSightings {
 public:
  static constexpr nanoseconds kKept = std::chrono::seconds(60);
  static constexpr std::size_t kMost = 10'000;  ///< further shards are not counted

  /// Notes that a shard responded at `now`.
  void See(ShardId shard, Instant now);
  /// Returns the estimate, at least 1.
  std::int64_t Count(Instant now);

 private:
  /// The last response of each shard, by its number.
  absl::flat_hash_map<std::uint64_t, Instant> seen_;
  Instant swept_{};  ///< the time at which old entries were last removed
};

}  // namespace weir::kinesis
