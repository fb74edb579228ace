// Which shards have answered lately.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstdint>

#include "weir/base/time.h"
#include "weir/kinesis/shard_map.h"

namespace weir::kinesis {

/// A value: an estimate of how many shards a stream has, if they cannot be listed. A shard counts
/// for kKept after its last answer, so that one that was closed leaves.
class ShardSightings {
 public:
  static constexpr nanoseconds kKept = std::chrono::seconds(60);
  static constexpr std::size_t kMost = 10'000;  ///< further ones are not counted

  void See(ShardId shard, Instant now);
  /// At least 1.
  std::int64_t Count(Instant now);

 private:
  absl::flat_hash_map<std::uint64_t, Instant> seen_;
  Instant swept_{};
};

}  // namespace weir::kinesis
