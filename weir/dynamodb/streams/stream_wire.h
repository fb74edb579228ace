// The bodies of the requests to DynamoDB Streams and of the responses, except that of GetRecords,
// which is in record_page.h.
//
// Format: AWS, "DynamoDB Streams API reference" (version 2012-08-10, JSON protocol 1.0).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/result.h"
#include "weir/base/time.h"

namespace weir::dynamo {

/// The x-amz-target header is this prefix, a dot and the name of the operation.
inline constexpr std::string_view kStreamsTargetPrefix = "DynamoDBStreams_20120810";
/// The maximum number of records that one GetRecords returns.
inline constexpr std::size_t kMaxPageRecords = 1'000;

struct StreamShard {
  std::string id;
  std::string parent;  ///< empty: it has none
  /// Normalized (sequence_number.h); empty: the service returns none, as for an idle shard.
  std::string first_sequence;

  friend bool operator==(const StreamShard&, const StreamShard&) = default;
};

/// The response to one DescribeStream: a page of the stream's shards.
struct StreamPage {
  std::string status;  ///< "ENABLED", "ENABLING", "DISABLED", "DISABLING"
  /// Ending sequence numbers are not read, because some engines report them for open shards too. A
  /// shard has ended if a GetRecords returns no next iterator.
  std::vector<StreamShard> shards;
  std::string last_shard;  ///< the next page begins after it; empty: there is no next page
};

std::string DescribeStreamBody(std::string_view stream_arn, std::string_view start_after);
/// This and ReadShardIterator return kUnknown for a body of another form.
[[nodiscard]] Result<StreamPage> ReadDescribeStream(std::string_view body);

/// A position in a shard.
struct ShardPosition {
  enum class At : std::uint8_t {
    kTrimHorizon,  ///< before the oldest record that the service still has
    kLatest,       ///< after the newest record at the time of the request
    kAt,           ///< before this record
    kAfter,        ///< after this record
    kEnd,          ///< after the last record; the shard has ended
  };
  At at = At::kTrimHorizon;
  std::string sequence_number{};  ///< of kAt and kAfter; normalized
  /// The records after the position were created at or after this time; nothing if no such time is
  /// known. kAfter: the creation time of the record; if that is unknown, the time of the previous
  /// position. kEnd: the time of the previous position. kLatest: the wall time at which it was
  /// chosen; a kTrimHorizon that replaces a kLatest has that time too.
  std::optional<UnixMillis> created{};

  friend bool operator==(const ShardPosition&, const ShardPosition&) = default;
};

/// REQUIRES: the position is not kEnd.
std::string ShardIteratorBody(std::string_view stream_arn, std::string_view shard,
                              const ShardPosition& position);
[[nodiscard]] Result<std::string> ReadShardIterator(std::string_view body);

/// `limit`: 1 to kMaxPageRecords.
std::string GetRecordsBody(std::string_view iterator, std::size_t limit);

}  // namespace weir::dynamo
