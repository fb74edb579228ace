// The bodies of PutRecords and ListShards (Amazon Kinesis Data Streams API reference, version
// 2013-12-02), in the two formats of the service.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weir/base/api.h"
#include "weir/base/result.h"
#include "weir/kinesis/pipeline/put_response.h"
#include "weir/kinesis/shards/shard_map.h"
#include "weir/kinesis/wire/record.h"

namespace weir::kinesis {

inline constexpr std::string_view kTargetPrefix = "Kinesis_20131202";

/// CBOR carries data as they are, JSON in base64: a third more to write, hash, encrypt and send.
enum class WireFormat { kJson, kCbor };

/// Returns the content type of a request. The response has the same format.
WEIR_API std::string_view ContentType(WireFormat format);

/// A stream of this account by name, or any stream by its ARN. Exactly one of them is set.
struct StreamAddress {
  std::string name;
  std::string arn;
};

/// Returns the body, in one allocation of its size. REQUIRES: the partition keys are UTF-8.
WEIR_API std::string PutRecordsBody(WireFormat format, const StreamAddress& stream,
                                    const std::vector<KinesisRecord>& records);
/// Returns one response for each entry, in order. kUnknown, with the position: the body is not
/// such a response.
[[nodiscard]] WEIR_API Result<std::vector<EntryResponse>> ReadPutRecords(WireFormat format,
                                                                         std::string_view body);

/// Returns the request for the page of this token or, if the token is empty, for the first page.
WEIR_API std::string ListShardsBody(WireFormat format, const StreamAddress& stream,
                                    std::string_view next_token);
/// Parses the response. kUnknown, with the position: the body is not such a response, or it names
/// a shard or a hash key that is not valid.
[[nodiscard]] WEIR_API Result<ShardPage> ReadListShards(WireFormat format, std::string_view body);

}  // namespace weir::kinesis
