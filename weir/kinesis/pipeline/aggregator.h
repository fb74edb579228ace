// Combines user records into Kinesis records.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "weir/kinesis/wire/record.h"

namespace weir::kinesis {

struct AggregatorOptions {
  enum class Mode {
    /// A Kinesis record has records that are expected on the same shard. Like kByKey if the shard
    /// is not known.
    kByShard,
    /// A Kinesis record has records of one hash key, which all land on the same shard even if
    /// shards split.
    kByKey,
    /// Like kByKey, but the records also have the same partition key, and the Kinesis record gets
    /// it.
    kByPartitionKey,
    kSeparately  ///< each user record is a Kinesis record
  };
  Mode mode = Mode::kByShard;
  /// The maximum number of user records in a Kinesis record; at least 1.
  std::size_t max_count = 4'294'967'295;
  /// The maximum size of a Kinesis record, data and partition key, to the byte.
  std::size_t max_bytes = 51'200;
};

/// Restores the data and keys of the user records from their Kinesis record, into which the
/// aggregator moved them. The data and keys of `record` itself must not be used after this.
void Unframe(KinesisRecord& record);

/// A state machine without I/O; not thread-safe. A batch leaves when the next record would not fit
/// into it, when it is full, when its most urgent record is due, or on demand. Records of one hash
/// key leave in the order of their puts. A record that alone is larger than max_bytes leaves alone
/// and at once, after the records before it.
class Aggregator {
 public:
  explicit Aggregator(const AggregatorOptions& options) : options_(options) {}

  /// Adds a record. `shard` is the shard that is expected to store it; nothing if it is not known.
  /// Batches that leave because of this are appended to `out`.
  void Put(UserRecord record, std::optional<ShardId> shard, std::vector<KinesisRecord>& out);
  /// Appends the batches whose deadline has come.
  void TakeDue(Instant now, std::vector<KinesisRecord>& out);
  /// Appends all batches.
  void TakeAll(std::vector<KinesisRecord>& out);
  /// Appends the batches of records that were put without a shard.
  void TakeShardless(std::vector<KinesisRecord>& out);
  /// Returns when the next batch is due; nothing if there is none.
  std::optional<Instant> NextWake() const;

  /// Returns the number of batches that have not left.
  std::size_t batches() const { return batches_.size(); }

 private:
  /// Records of equal groups may be in one batch: they have one shard or one key.
  struct Group {
    std::optional<ShardId> shard;
    HashKey hash = 0;             ///< 0 if the records are grouped by shard
    std::string partition_key{};  ///< empty unless the records are grouped by partition key

    friend bool operator<(const Group& a, const Group& b) {
      return std::tie(a.shard, a.hash, a.partition_key) <
             std::tie(b.shard, b.hash, b.partition_key);
    }
  };
  /// Is never empty.
  struct Batch {
    std::vector<UserRecord> records;
    AggregateWriter writer;
    Instant deadline;
    Instant expires;
  };
  using Batches = std::map<Group, Batch>;

  /// Returns whether the batch of this group may hold all keys of a shard. Other batches hold a
  /// single hash key each, so there may be thousands of them.
  bool IsOfShard(const Group& group) const;
  Group GroupOf(const UserRecord& record, std::optional<ShardId> shard) const;
  /// Adds the record to the batch of its group, and begins one if there is none.
  void Add(const Group& group, UserRecord record);
  /// Returns the size of the partition key of a Kinesis record with the records of this batch, when
  /// there are `count` of them.
  std::size_t KeySizeOf(const Batch& batch, std::size_t count) const;
  bool IsFull(const Batch& batch) const;
  /// Makes a Kinesis record of the batch and removes it.
  void Take(Batches::iterator batch, std::vector<KinesisRecord>& out);

  AggregatorOptions options_;
  Batches batches_;        // sorted; those without a shard come first
  std::size_t usual_ = 1;  // moving average of the number of user records in a batch of a shard
  // The deadlines of all batches.
  std::set<std::pair<Instant, Group>> due_;
};

}  // namespace weir::kinesis
