// One simulated stream: its open and closed shards, and the records that each of them stored.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weir/base/time.h"
#include "weir/sim/kinesis/kinesis_delivery.h"
#include "weir/sim/kinesis/kinesis_hash.h"
#include "weir/sim/kinesis/kinesis_quota.h"

namespace weir::sim {

struct StoredRecord {
  std::uint64_t sequence = 0;
  std::string partition_key;
  std::string data;
  UnixMillis arrived;
};

struct KinesisShard {
  std::uint64_t number = 0;
  HashSpan range;
  std::vector<std::uint64_t> parents;  ///< none, one after a split, two after a merge
  std::vector<std::uint64_t> children;
  std::uint64_t first_sequence = 0;
  std::optional<std::uint64_t> last_sequence;  ///< the last sequence number of a closed shard
  std::vector<StoredRecord> log;
  ShardQuota quota;

  bool open() const { return !last_sequence; }
};

/// Returns a name such as "shardId-000000000012".
std::string ShardName(std::uint64_t number);
std::optional<std::uint64_t> ReadShardName(std::string_view name);
/// Formats a sequence number in decimal, always with the same number of digits: texts compare as
/// the numbers do.
std::string SequenceText(std::uint64_t sequence);
std::optional<std::uint64_t> ReadSequence(std::string_view text);

class KinesisStream {
 public:
  /// Divides the hash space into equal shards. REQUIRES: shards > 0.
  KinesisStream(std::string name, std::uint64_t shards, const KinesisLimits& limits, Instant now);

  const std::string& name() const { return name_; }
  std::string arn() const;
  /// Returns the shards by their numbers, from 0.
  const std::vector<KinesisShard>& shards() const { return shards_; }
  std::vector<std::uint64_t> OpenShards() const;
  /// Returns the sequence number of the next record, or of the next change of the shards.
  std::uint64_t next_sequence() const { return next_sequence_; }

  /// Returns the open shard of this hash.
  KinesisShard& ShardOf(Hash128 hash);
  /// Stores a record with the next sequence number. REQUIRES: the shard is open.
  const StoredRecord& Store(KinesisShard& shard, StoredRecord record);

  /// Splits a shard; `start` is the first hash of the upper child. Returns false, and changes
  /// nothing, if the shard is not open, or `start` is outside its range or is its first hash.
  bool Split(std::uint64_t shard, Hash128 start, Instant now);
  /// Merges two shards. Returns false, and changes nothing, if the shards are not open, are the
  /// same, or are not adjacent.
  bool Merge(std::uint64_t one, std::uint64_t other, Instant now);

  /// Returns the records that consumers deliver: parents before their children.
  std::vector<Delivery> Delivered() const;

 private:
  bool IsOpen(std::uint64_t shard) const { return shard < shards_.size() && shards_[shard].open(); }
  // Adds an open shard.
  void Add(HashSpan range, std::vector<std::uint64_t> parents, Instant now);
  void Close(std::uint64_t shard);

  std::string name_;
  KinesisLimits limits_;
  std::vector<KinesisShard> shards_;
  std::uint64_t next_sequence_ = 1;
};

/// Returns the first hash of the second half of the range.
inline Hash128 MiddleOf(const HashSpan& range) {
  return range.first + (range.last - range.first) / 2 + 1;
}

}  // namespace weir::sim
