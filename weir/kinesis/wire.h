// The bodies of PutRecords and ListShards (Amazon Kinesis Data Streams API reference, version
// 2013-12-02), in the two formats that the service speaks.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weir/base/result.h"
#include "weir/kinesis/pipeline.h"

namespace weir::kinesis {

inline constexpr std::string_view kTargetPrefix = "Kinesis_20131202";

/// CBOR carries data as they are, JSON in base64: a third more to write, hash, encrypt and send.
enum class WireFormat { kJson, kCbor };

/// Of a request, which the service answers in the same.
std::string_view ContentType(WireFormat format);

/// A stream of this account by name, or any by its ARN. One of them, not both.
struct StreamAddress {
  std::string name;
  std::string arn;
};

/// One allocation, of the size of the body. REQUIRES: partition keys in UTF-8.
std::string PutRecordsBody(WireFormat format, const StreamAddress& stream,
                           const std::vector<KinesisRecord>& records);
/// One answer for each entry, in order. kDataLoss, with the place, where it is no such answer.
[[nodiscard]] Result<std::vector<EntryAnswer>> ReadPutRecords(WireFormat format,
                                                              std::string_view body);

/// The page of this token; the first where it is empty.
std::string ListShardsBody(WireFormat format, const StreamAddress& stream,
                           std::string_view next_token);
/// kDataLoss, with the place, where it is no such answer, or names a shard or a hash key that
/// cannot be.
[[nodiscard]] Result<ShardPage> ReadListShards(WireFormat format, std::string_view body);

}  // namespace weir::kinesis
