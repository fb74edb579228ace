#include "bench/kinesis/responses.h"

#include <fmt/format.h>

#include <array>

namespace weir::bench {
namespace {

constexpr std::string_view kSequenceNumber =
    "49590338271490256608559692538361571095921575989136588898";

std::string ShardName(int shard) { return fmt::format("shardId-{:012}", shard); }

// Returns the head of a text or container with a definite length (RFC 8949), for counts up to
// 65535.
std::string CborHead(int major, std::size_t count) {
  const auto byte = [](std::size_t value) { return static_cast<char>(value & 0xFF); };
  const std::size_t kind = static_cast<std::size_t>(major) << 5;
  if (count < 24) return {byte(kind | count)};
  if (count < 256) return {byte(kind | 24), byte(count)};
  return {byte(kind | 25), byte(count >> 8), byte(count)};
}

std::string CborText(std::string_view text) { return CborHead(3, text.size()).append(text); }
std::string CborMap(std::size_t count) { return CborHead(5, count); }
std::string CborArray(std::size_t count) { return CborHead(4, count); }

std::string EntryResponse(Format format, int shard) {
  if (format == Format::kJson) {
    return fmt::format(R"({{"SequenceNumber":"{}","ShardId":"{}"}})", kSequenceNumber,
                       ShardName(shard));
  }
  return CborMap(2) + CborText("SequenceNumber") + CborText(kSequenceNumber) + CborText("ShardId") +
         CborText(ShardName(shard));
}

std::array<std::string, kShards> EntryResponses(Format format) {
  std::array<std::string, kShards> responses;
  for (int shard = 0; shard < kShards; ++shard) {
    responses[static_cast<std::size_t>(shard)] = EntryResponse(format, shard);
  }
  return responses;
}

std::string JsonShard(int shard) {
  const kinesis::HashRange range = RangeOf(shard);
  return fmt::format(
      R"({{"ShardId":"{}","HashKeyRange":{{"StartingHashKey":"{}","EndingHashKey":"{}"}},)"
      R"("SequenceNumberRange":{{"StartingSequenceNumber":"{}"}}}})",
      ShardName(shard), kinesis::FormatHashKey(range.first), kinesis::FormatHashKey(range.last),
      kSequenceNumber);
}

std::string JsonShards() {
  std::string shards = JsonShard(0);
  for (int shard = 1; shard < kShards; ++shard) shards += ',' + JsonShard(shard);
  return fmt::format(R"("Shards":[{}])", shards);
}

std::string CborShard(int shard) {
  const kinesis::HashRange range = RangeOf(shard);
  return CborMap(3) + CborText("ShardId") + CborText(ShardName(shard)) + CborText("HashKeyRange") +
         CborMap(2) + CborText("StartingHashKey") + CborText(kinesis::FormatHashKey(range.first)) +
         CborText("EndingHashKey") + CborText(kinesis::FormatHashKey(range.last)) +
         CborText("SequenceNumberRange") + CborMap(1) + CborText("StartingSequenceNumber") +
         CborText(kSequenceNumber);
}

}  // namespace

std::string_view ContentType(Format format) {
  return format == Format::kJson ? "application/x-amz-json-1.1" : "application/x-amz-cbor-1.1";
}

std::string PutRecordsResponse(Format format, const std::vector<int>& shards) {
  static const std::array entries{EntryResponses(Format::kJson), EntryResponses(Format::kCbor)};
  const bool json = format == Format::kJson;
  std::string response = json ? std::string(R"({"FailedRecordCount":0,"Records":[)")
                              : CborMap(2) + CborText("FailedRecordCount") + CborHead(0, 0) +
                                    CborText("Records") + CborArray(shards.size());
  for (const int shard : shards) {
    response += entries[json ? 0 : 1][static_cast<std::size_t>(shard)];
    if (json) response += ',';
  }
  if (json) response.replace(response.size() - 1, 1, "]}");
  return response;
}

std::string ListShardsResponse(Format format) {
  if (format == Format::kJson) return fmt::format("{{{}}}", JsonShards());
  std::string response = CborMap(1) + CborText("Shards") + CborArray(kShards);
  for (int shard = 0; shard < kShards; ++shard) response += CborShard(shard);
  return response;
}

std::string DescribeResponse(std::string_view operation) {
  constexpr std::string_view kStream =
      R"("StreamName":"bench","StreamStatus":"ACTIVE","RetentionPeriodHours":24,)"
      R"("StreamARN":"arn:aws:kinesis:us-east-1:123456789012:stream/bench",)"
      R"("StreamCreationTimestamp":1600000000.0,"EnhancedMonitoring":[{"ShardLevelMetrics":[]}])";
  if (operation == "DescribeStream") {
    return fmt::format(R"({{"StreamDescription":{{{},{},"HasMoreShards":false}}}})", kStream,
                       JsonShards());
  }
  return fmt::format(R"({{"StreamDescriptionSummary":{{{},"OpenShardCount":{}}}}})", kStream,
                     kShards);
}

}  // namespace weir::bench
