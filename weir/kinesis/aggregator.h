// User records into Kinesis records.
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

#include "weir/kinesis/record.h"

namespace weir::kinesis {

struct AggregatorOptions {
  enum class Mode {
    kByShard,  ///< together what is expected on one shard; where that is not known, as kByKey
    kByKey,    ///< together what has one hash key: right on every shard, whatever splits
    /// As kByKey, and of one partition key, which the Kinesis record has, too.
    kByPartitionKey,
    kSeparately  ///< each user record is a Kinesis record
  };
  Mode mode = Mode::kByShard;
  std::size_t max_count = 4'294'967'295;  ///< user records in a Kinesis record; at least 1
  std::size_t max_bytes = 51'200;         ///< of its data, to the byte
};

/// Gives the user records of a Kinesis record their data and keys back, which it holds for them
/// from the aggregator on. `record.data` is not to be used any more.
void Unframe(KinesisRecord& record);

/// A value. What it holds leaves when the next record would not fit, when the most urgent of a
/// batch is due, or on demand. Records of one hash key leave in the order of their puts. One that
/// alone is larger than max_bytes leaves alone and at once, after those before it.
class Aggregator {
 public:
  explicit Aggregator(const AggregatorOptions& options) : options_(options) {}

  /// `shard`: where it is expected to go. What it makes leave is appended to `out`.
  void Put(UserRecord record, std::optional<ShardId> shard, std::vector<KinesisRecord>& out);
  /// Batches whose deadline has come.
  void TakeDue(Instant now, std::vector<KinesisRecord>& out);
  void TakeAll(std::vector<KinesisRecord>& out);
  /// What was put without a shard.
  void TakeUnplaced(std::vector<KinesisRecord>& out);
  /// When the next batch is due; nothing where there is none.
  std::optional<Instant> Wake() const;

  std::size_t batches() const { return batches_.size(); }

 private:
  /// What may stand in one frame: one shard's records, or one key's.
  struct Group {
    std::optional<ShardId> shard;
    HashKey hash = 0;             ///< 0 where the shard says it all
    std::string partition_key{};  ///< empty unless it counts

    friend bool operator<(const Group& a, const Group& b) {
      return std::tie(a.shard, a.hash, a.partition_key) <
             std::tie(b.shard, b.hash, b.partition_key);
    }
  };
  struct Batch {
    std::vector<UserRecord> records;
    AggregateWriter writer;
    Instant deadline;
    Instant expires;
  };
  using Batches = std::map<Group, Batch>;

  /// Not of one hash key, of which there may be thousands.
  bool IsOfShard(const Group& group) const;
  Group GroupOf(const UserRecord& record, std::optional<ShardId> shard) const;
  void Add(const Group& group, UserRecord record);
  bool IsFull(const Batch& batch) const;
  void Take(Batches::iterator batch, std::vector<KinesisRecord>& out);

  AggregatorOptions options_;
  Batches batches_;        // those without a shard first
  std::size_t usual_ = 1;  // size of a shard's batch lately, in user records
  std::set<std::pair<Instant, Group>> due_;
};

}  // namespace weir::kinesis
