// The limiters of all shards of a stream. Each shard has a lane; the records whose shard is not
// known share one lane.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "weir/kinesis/shards/shard_limiter.h"
#include "weir/kinesis/shards/shard_map.h"
#include "weir/kinesis/shards/shard_sightings.h"

namespace weir::kinesis {

/// A state machine without I/O; not thread-safe. The lane of the records without a shard admits the
/// rate of as many shards as have responded for such records lately. Each returned Drained has the
/// records of one lane.
class ShardLanes {
 public:
  using Drained = ShardLimiter::Drained;

  explicit ShardLanes(const ShardLimiterOptions& options) : options_(options) {}

  /// Adds a record to the lane of the shard that is expected to store it (KinesisRecord::shard).
  /// Returns the records that leave this lane now.
  Drained Put(KinesisRecord record, Instant now);
  /// Returns whether records wait for the rate of a lane.
  bool is_waiting() const { return !wakes_.empty(); }
  /// Returns whether a lane is due: some of its records fit or have expired.
  bool IsDue(Instant now) const { return is_waiting() && wakes_.begin()->first <= now; }
  /// Returns the records that leave a lane that is due. REQUIRES: IsDue(now).
  Drained DrainDue(Instant now);
  /// Returns when the next lane is due; nothing if no record waits.
  std::optional<Instant> NextWake() const;

  /// Sets the lead of the lanes of shards, as ShardLimiter::SetLead.
  void SetLead(nanoseconds lead) { lead_ = lead; }
  /// Handles a throttle of the service for a record that was expected on this shard.
  void OnThrottled(std::optional<ShardId> expected, Instant now);
  /// Notes that a shard responded for a record whose shard was not known.
  void OnSeen(ShardId shard, Instant now) { sightings_.See(shard, now); }
  /// Sets the rate of the records without a shard by the number of shards that have responded
  /// lately. Returns the records that leave their lane because of this.
  Drained UpdateShardlessRate(Instant now);

  /// Takes all records without a shard, and those of shards that are not open any more, expired or
  /// not, without charging them to a rate.
  void TakeUnplaced(const ShardMap& map, std::vector<KinesisRecord>& out);
  /// Removes the empty lanes of shards whose range is not known any more.
  void RemoveClosed(const ShardMap& map);
  /// Takes all records, and removes all lanes.
  void TakeAll(Instant now, std::vector<KinesisRecord>& out);

  /// Returns the number of lanes.
  std::size_t size() const { return lanes_.size(); }

 private:
  using ExpectedShard = std::optional<ShardId>;
  struct Lane {
    ShardLimiter limiter;
    std::optional<Instant> wake;  ///< its entry in wakes_
  };

  /// Returns the lane of this shard; creates it if there is none.
  Lane& LaneOf(ExpectedShard expected, Instant now);
  Drained Drain(ExpectedShard expected, Lane& lane, Instant now);
  /// Sets when the lane is due.
  void SetWake(ExpectedShard expected, Lane& lane, std::optional<Instant> wake);

  ShardLimiterOptions options_;
  nanoseconds lead_{0};
  std::map<ExpectedShard, Lane> lanes_;
  std::set<std::pair<Instant, ExpectedShard>> wakes_;  // when lanes with waiting records are due
  ShardSightings sightings_;  // shards that responded for records whose shard was not known
};

}  // namespace weir::kinesis
