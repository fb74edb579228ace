#include "weir/kinesis/shards/shard_sightings.h"

#include <algorithm>

namespace weir::kinesis {

void ShardSightings::See(ShardId shard, Instant now) {
  if (seen_.size() < kMost || seen_.contains(shard.number)) seen_[shard.number] = now;
}

std::int64_t ShardSightings::Count(Instant now) {
  constexpr nanoseconds kSweep = std::chrono::seconds(1);
  if (now - swept_ >= kSweep) {
    swept_ = now;
    absl::erase_if(seen_, [now](const auto& entry) { return now - entry.second >= kKept; });
  }
  return std::max<std::int64_t>(1, std::ssize(seen_));
}

}  // namespace weir::kinesis
