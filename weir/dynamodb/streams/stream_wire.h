// The requests of DynamoDB Streams and the responses to them, but for records (record_page.h).
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

/// Of the x-amz-target header.
inline constexpr std::string_view kStreamsTargetPrefix = "DynamoDBStreams_20120810";
/// The most records of a GetRecords.
inline constexpr std::size_t kMaxPageRecords = 1'000;

struct StreamShard {
  std::string id;
  std::string parent;  ///< empty: it has none
  /// Normalized (sequence_number.h); empty: the service names none, as for an idle shard.
  std::string first_sequence;

  friend bool operator==(const StreamShard&, const StreamShard&) = default;
};

/// One page of a DescribeStream.
struct StreamPage {
  std::string status;  ///< "ENABLED", "ENABLING", "DISABLED", "DISABLING"
  /// Whether a shard has ended is not part of it: some engines report an ending sequence number of
  /// open shards. A GetRecords without a next iterator is the reliable sign.
  std::vector<StreamShard> shards;
  std::string last_shard;  ///< the next page begins after it; empty: there is no next page
};

std::string DescribeStreamBody(std::string_view stream_arn, std::string_view start_after);
/// This and ReadShardIterator return kDataLoss for a body of another form.
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
  std::string sequence_number{};  ///< the sequence number of kAt and kAfter; normalized
  /// When the record of kAfter was created; nothing if that is not known.
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
