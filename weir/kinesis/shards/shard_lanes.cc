#include "weir/kinesis/shards/shard_lanes.h"

#include <algorithm>
#include <iterator>

namespace weir::kinesis {

ShardLanes::Drained ShardLanes::Put(KinesisRecord record, Instant now) {
  const ExpectedShard expected = record.shard;
  Lane& lane = LaneOf(expected, now);
  lane.limiter.Put(std::move(record));
  return Drain(expected, lane, now);
}

ShardLanes::Drained ShardLanes::DrainDue(Instant now) {
  const ExpectedShard expected = wakes_.begin()->second;
  return Drain(expected, lanes_.at(expected), now);
}

std::optional<Instant> ShardLanes::NextWake() const {
  if (wakes_.empty()) return std::nullopt;
  return wakes_.begin()->first;
}

void ShardLanes::OnThrottled(ExpectedShard expected, Instant now) {
  LaneOf(expected, now).limiter.OnThrottled(now);
}

// If the shards cannot be listed, only the shards that have responded are known.
ShardLanes::Drained ShardLanes::UpdateShardlessRate(Instant now) {
  const auto lane = lanes_.find(std::nullopt);
  if (lane == lanes_.end()) return {};
  lane->second.limiter.SetShards(sightings_.Count(now), now);
  if (lane->second.limiter.empty()) return {};
  return Drain(std::nullopt, lane->second, now);
}

void ShardLanes::TakeUnplaced(const ShardMap& map, std::vector<KinesisRecord>& out) {
  for (auto& [expected, lane] : lanes_) {
    if (expected && map.IsOpen(*expected)) continue;
    lane.limiter.TakeAll(out);
    SetWake(expected, lane, std::nullopt);
  }
}

void ShardLanes::RemoveClosed(const ShardMap& map) {
  std::erase_if(lanes_, [&map](const auto& entry) {
    const auto& [expected, lane] = entry;
    return expected && lane.limiter.empty() && !map.RangeOf(*expected);
  });
}

void ShardLanes::TakeAll(Instant now, std::vector<KinesisRecord>& out) {
  for (auto& [expected, lane] : std::exchange(lanes_, {})) {
    Drained drained = lane.limiter.DrainAll(now);
    std::ranges::move(drained.expired, std::back_inserter(out));
    std::ranges::move(drained.admitted, std::back_inserter(out));
  }
  wakes_.clear();
}

ShardLanes::Lane& ShardLanes::LaneOf(ExpectedShard expected, Instant now) {
  const auto known = lanes_.find(expected);
  if (known != lanes_.end()) return known->second;
  return lanes_.emplace(expected, Lane{ShardLimiter(options_, now), std::nullopt}).first->second;
}

ShardLanes::Drained ShardLanes::Drain(ExpectedShard expected, Lane& lane, Instant now) {
  if (expected) lane.limiter.SetLead(lead_);
  Drained drained = lane.limiter.Drain(now);
  SetWake(expected, lane, lane.limiter.NextWake(now));
  return drained;
}

void ShardLanes::SetWake(ExpectedShard expected, Lane& lane, std::optional<Instant> wake) {
  if (lane.wake) wakes_.erase({*lane.wake, expected});
  lane.wake = wake;
  if (lane.wake) wakes_.emplace(*lane.wake, expected);
}

}  // namespace weir::kinesis
