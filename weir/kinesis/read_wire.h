// The bodies of reading: ListShards of all shards, GetShardIterator and GetRecords, in JSON (Amazon
// Kinesis Data Streams API reference, version 2013-12-02).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weir/base/result.h"
#include "weir/base/time.h"
#include "weir/kinesis/hash_key.h"
#include "weir/kinesis/shard_map.h"
#include "weir/kinesis/wire.h"

namespace weir::kinesis {

/// Of all bodies here.
inline constexpr std::string_view kReadContentType = "application/x-amz-json-1.1";

/// A shard as a reader needs it.
struct ReadShard {
  ShardId id;
  HashRange range;
  std::vector<ShardId> parents;  ///< at most two; the service may have forgotten them
  bool closed = false;           ///< takes no more records

  friend bool operator==(const ReadShard&, const ReadShard&) = default;
};

struct ReadShards {
  std::vector<ReadShard> shards;
  std::string next_token;  ///< empty: the last page
};

/// The page of this token; the first where it is empty. Closed shards too.
std::string ListAllShardsBody(const StreamAddress& stream, std::string_view next_token);
/// kDataLoss, as of all that follow, where it is no such answer.
[[nodiscard]] Result<ReadShards> ReadListAllShards(std::string_view body);

/// Where in a shard to begin.
struct Position {
  enum class At { kTrimHorizon, kLatest, kTime, kAt, kAfter };
  At at = At::kTrimHorizon;
  std::string sequence_number{};  ///< of the first record, for kAt; of the one before, for kAfter
  UnixMillis time{};              ///< for kTime, not negative: records that arrived then or later
};

std::string GetShardIteratorBody(const StreamAddress& stream, ShardId shard,
                                 const Position& position);
[[nodiscard]] Result<std::string> ReadGetShardIterator(std::string_view body);

/// A Kinesis record as it is stored.
struct StoredRecord {
  std::string sequence_number;
  std::string partition_key;
  std::string data;
};

struct RecordPage {
  std::vector<StoredRecord> records;
  std::string next_iterator;        ///< empty: the shard's end
  std::vector<ReadShard> children;  ///< at its end; the service may leave them out
  milliseconds behind{0};           ///< of the page's end to the shard's newest record
};

/// REQUIRES: 1 <= most <= 10000.
std::string GetRecordsBody(const StreamAddress& stream, std::string_view iterator,
                           std::size_t most);
[[nodiscard]] Result<RecordPage> ReadGetRecords(std::string_view body);

}  // namespace weir::kinesis
