// What travels through the producer. Each value is in one stage at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "weir/base/time.h"
#include "weir/kinesis/aggregate.h"
#include "weir/kinesis/attempts.h"
#include "weir/kinesis/hash_key.h"
#include "weir/kinesis/shard_map.h"

namespace weir::kinesis {

/// What the caller put.
struct UserRecord {
  std::uint64_t number = 0;  ///< in the order of the puts; names it in results
  std::string partition_key;
  std::optional<std::string> explicit_hash_key;  ///< decimal, without leading zeros
  std::string data;
  HashKey hash = 0;  ///< of either key
  Instant deadline;  ///< when it should be sent
  Instant expires;   ///< after that it is not sent again
  Attempts attempts{};
  /// Of these, requests that were refused for one of their entries and sent again in halves: they
  /// say nothing of this record.
  std::uint32_t halvings = 0;
  bool maybe_duplicate = false;  ///< an attempt that did not succeed may have stored it
  bool is_reported = false;      ///< it expired in flight and has its result
  /// When the first attempt began that failed for what may come (MayCome).
  std::optional<Instant> held_since{};

  UserRecordView View() const { return {partition_key, explicit_hash_key, data}; }
};

/// One entry of PutRecords.
struct KinesisRecord {
  /// At least one, in the order in which they are framed. Their data and keys are in `data` and
  /// `partition_key` alone, so that nothing is kept twice: Unframe in aggregator.h.
  std::vector<UserRecord> records;
  std::string partition_key;
  std::optional<std::string> explicit_hash_key;
  std::string data;
  std::optional<ShardId> shard;  ///< where it is expected to go
  Instant deadline;              ///< the earliest of its records'
  Instant expires;               ///< the same
  std::uint64_t ticket = 0;      ///< of the order gate, where there is one

  /// As the service counts: data and partition key.
  std::size_t bytes() const { return data.size() + partition_key.size(); }
};

}  // namespace weir::kinesis
