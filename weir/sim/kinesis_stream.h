// One simulated stream: its shards, open and closed, and what each of them stored.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weir/base/time.h"
#include "weir/sim/kinesis_delivery.h"
#include "weir/sim/kinesis_hash.h"
#include "weir/sim/kinesis_quota.h"

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
  std::vector<std::uint64_t> parents;  ///< none, one of a split, two of a merge
  std::vector<std::uint64_t> children;
  std::uint64_t first_sequence = 0;
  std::optional<std::uint64_t> last_sequence;  ///< of a closed one
  std::vector<StoredRecord> log;
  ShardQuota quota;

  bool open() const { return !last_sequence; }
};

/// "shardId-000000000012".
std::string ShardName(std::uint64_t number);
std::optional<std::uint64_t> ReadShardName(std::string_view name);
/// Decimal, all of one length, so that they compare as text as they do as numbers.
std::string SequenceText(std::uint64_t sequence);
std::optional<std::uint64_t> ReadSequence(std::string_view text);

class KinesisStream {
 public:
  /// The space in equal parts. REQUIRES: shards > 0.
  KinesisStream(std::string name, std::uint64_t shards, const KinesisLimits& limits, Instant now);

  const std::string& name() const { return name_; }
  std::string arn() const;
  /// By their numbers, from 0.
  const std::vector<KinesisShard>& shards() const { return shards_; }
  std::vector<std::uint64_t> OpenShards() const;
  /// Of the next record, or the next change of the shards.
  std::uint64_t next_sequence() const { return next_sequence_; }

  KinesisShard& ShardOf(Hash128 hash);
  /// Sequence numbers grow by each call. REQUIRES: the shard is open.
  const StoredRecord& Store(KinesisShard& shard, StoredRecord record);

  /// False, and nothing changed, if that shard is not open or does not hold `start` behind its
  /// first hash.
  bool Split(std::uint64_t shard, Hash128 start, Instant now);
  /// False, and nothing changed, if they are not open, not two, or not beside each other.
  bool Merge(std::uint64_t one, std::uint64_t other, Instant now);

  /// What consumers deliver, parents before their children.
  std::vector<Delivery> Delivered() const;

 private:
  bool IsOpen(std::uint64_t shard) const { return shard < shards_.size() && shards_[shard].open(); }
  void Add(HashSpan range, std::vector<std::uint64_t> parents, Instant now);
  void Close(std::uint64_t shard);

  std::string name_;
  KinesisLimits limits_;
  std::vector<KinesisShard> shards_;
  std::uint64_t next_sequence_ = 1;
};

/// What stands before `range`'s middle, and where the rest begins.
inline Hash128 MiddleOf(const HashSpan& range) {
  return range.first + (range.last - range.first) / 2 + 1;
}

}  // namespace weir::sim
