// The records that pass through the producer. A record is in one stage at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "weir/base/api.h"
#include "weir/base/time.h"
#include "weir/kinesis/pipeline/attempts.h"
#include "weir/kinesis/shards/shard_map.h"
#include "weir/kinesis/wire/aggregate.h"
#include "weir/kinesis/wire/hash_key.h"

namespace weir::kinesis {

/// A record as the caller put it, and its state.
struct UserRecord {
  std::uint64_t number = 0;  ///< unique among the records of a pipeline; results have it
  std::string partition_key;
  std::optional<std::string> explicit_hash_key;  ///< decimal, without leading zeros
  std::string data;
  HashKey hash = 0;  ///< the hash of the explicit hash key or, without one, of the partition key
  Instant deadline;  ///< the time at which its wait for batching ends
  Instant expires;   ///< after this time it is not sent any more
  Attempts attempts{};
  /// The number of attempts in requests that were refused for the content of one entry and then
  /// sent again in halves. These attempts say nothing about this record.
  std::uint32_t halvings = 0;
  bool maybe_duplicate = false;  ///< an attempt that did not succeed may have stored it
  bool is_reported = false;      ///< it expired in flight and its result was returned
  /// When the first attempt that failed for a temporary absence (IsTemporaryAbsence) began.
  std::optional<Instant> held_since{};

  UserRecordView View() const { return {partition_key, explicit_hash_key, data}; }
};

/// One entry of PutRecords.
struct WEIR_API KinesisRecord {
  /// At least one user record, in the order in which they are framed. Their data and keys are
  /// stored in `data` and `partition_key` only, so that nothing is stored twice; Unframe in
  /// aggregator.h restores them.
  std::vector<UserRecord> records;
  std::string partition_key;
  std::optional<std::string> explicit_hash_key;
  std::string data;
  std::optional<ShardId> shard;  ///< the shard that is expected to store it; nothing: not known
  Instant deadline;              ///< the earliest deadline of its user records
  Instant expires;               ///< the earliest expiry of its user records
  std::uint64_t ticket = 0;      ///< the ticket of the order gate, in ordered mode

  /// Returns the size as the service counts it: data and partition key.
  std::size_t bytes() const { return data.size() + partition_key.size(); }
};

}  // namespace weir::kinesis
