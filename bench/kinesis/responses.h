// The responses of the responder, in JSON and in CBOR.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bench/kinesis/entries.h"

namespace weir::bench {

enum class Format { kJson, kCbor };
std::string_view ContentType(Format format);

/// Reports every entry as stored, each on its shard.
std::string PutRecordsResponse(Format format, const std::vector<int>& shards);
/// Lists the whole stream on one page.
std::string ListShardsResponse(Format format);
/// Returns the response of DescribeStream or DescribeStreamSummary, in JSON.
std::string DescribeResponse(std::string_view operation);

}  // namespace weir::bench
