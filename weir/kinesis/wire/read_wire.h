// The bodies of the requests and responses for reading: ListShards with closed shards,
// GetShardIterator and GetRecords, in JSON (Amazon Kinesis Data Streams API reference, version
// 2013-12-02).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weir/base/result.h"
#include "weir/base/time.h"
#include "weir/kinesis/shards/shard_map.h"
#include "weir/kinesis/wire/hash_key.h"
#include "weir/kinesis/wire/wire.h"

namespace weir::kinesis {

/// The content type of all bodies here.
inline constexpr std::string_view kReadContentType = "application/x-amz-json-1.1";

/// A shard with the members that a reader needs.
struct ReadShard {
  ShardId id;
  HashRange range;
  std::vector<ShardId> parents;  ///< at most two; the service may not list them any more
  bool closed = false;           ///< it takes no more records

  friend bool operator==(const ReadShard&, const ReadShard&) = default;
};

struct ReadShards {
  std::vector<ReadShard> shards;
  std::string next_token;  ///< empty: this is the last page
};

/// Returns the request for the page of this token or, if the token is empty, for the first page.
/// Closed shards are listed, too.
std::string ListAllShardsBody(const StreamAddress& stream, std::string_view next_token);
/// Parses the response. kUnknown, also of all Read functions below: the body is not such a
/// response.
[[nodiscard]] Result<ReadShards> ReadListAllShards(std::string_view body);

/// Where to begin in a shard.
struct Position {
  enum class At { kTrimHorizon, kLatest, kTime, kAt, kAfter };
  At at = At::kTrimHorizon;
  /// For kAt, the number of the first record to read; for kAfter, that of the record before it.
  std::string sequence_number{};
  /// For kTime, not negative: records that arrived at this time or later.
  UnixMillis time{};
};

std::string GetShardIteratorBody(const StreamAddress& stream, ShardId shard,
                                 const Position& position);
[[nodiscard]] Result<std::string> ReadGetShardIterator(std::string_view body);

/// A Kinesis record as the service stores it.
struct StoredRecord {
  std::string sequence_number;
  std::string partition_key;
  std::string data;
};

struct RecordPage {
  std::vector<StoredRecord> records;
  std::string next_iterator;  ///< empty: the end of the shard, if it is closed
  /// Set at the end of the shard; the service may omit the children.
  std::vector<ReadShard> children;
  /// The time from the end of the page to the newest record of the shard.
  milliseconds behind{0};
};

/// REQUIRES: 1 <= limit <= 10000.
std::string GetRecordsBody(const StreamAddress& stream, std::string_view iterator,
                           std::size_t limit);
[[nodiscard]] Result<RecordPage> ReadGetRecords(std::string_view body);

}  // namespace weir::kinesis
