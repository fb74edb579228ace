// The bodies of PutRecords and ListShards in JSON (Amazon Kinesis Data Streams API reference,
// version 2013-12-02).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weir/base/result.h"
#include "weir/kinesis/pipeline.h"

namespace weir::kinesis {

inline constexpr std::string_view kTargetPrefix = "Kinesis_20131202";
inline constexpr std::string_view kContentType = "application/x-amz-json-1.1";

/// A stream of this account by name, or any by its ARN. One of them, not both.
struct StreamAddress {
  std::string name;
  std::string arn;
};

std::string PutRecordsBody(const StreamAddress& stream, const std::vector<KinesisRecord>& records);
/// One answer for each entry, in order. kDataLoss where it is no such answer.
[[nodiscard]] Result<std::vector<EntryAnswer>> ReadPutRecords(std::string_view body);

/// The page of this token; the first where it is empty.
std::string ListShardsBody(const StreamAddress& stream, std::string_view next_token);
/// kDataLoss where it is no such answer, or names a shard or a hash key that cannot be.
[[nodiscard]] Result<ShardPage> ReadListShards(std::string_view body);

}  // namespace weir::kinesis
