#include "weir/dynamodb/streams/stream_wire.h"

#include <fmt/format.h>

#include "weir/aws/json_response.h"
#include "weir/codec/json_text.h"
#include "weir/dynamodb/streams/sequence_number.h"

namespace weir::dynamo {
namespace {

std::string JsonText(std::string_view text) {
  std::string json;
  AppendJson(json, text);
  return json;
}

std::string_view IteratorType(ShardPosition::At at) {
  switch (at) {
    case ShardPosition::At::kLatest:
      return "LATEST";
    case ShardPosition::At::kAt:
      return "AT_SEQUENCE_NUMBER";
    case ShardPosition::At::kAfter:
      return "AFTER_SEQUENCE_NUMBER";
    case ShardPosition::At::kTrimHorizon:
    case ShardPosition::At::kEnd:
      break;
  }
  return "TRIM_HORIZON";
}

std::string ReadFirstSequence(JsonObject range) {
  std::string first;
  ForMembers(range, [&](std::string_view name, JsonValue json) {
    if (name != "StartingSequenceNumber") return;
    const auto number = NormalizeSequenceNumber(TextOf(json));
    if (!number) throw UnexpectedJson{"StartingSequenceNumber: not 1 to 40 digits"};
    first = *number;
  });
  return first;
}

StreamShard ReadStreamShard(JsonObject fields) {
  StreamShard shard;
  ForMembers(fields, [&](std::string_view name, JsonValue json) {
    if (name == "ShardId") shard.id = TextOf(json);
    if (name == "ParentShardId") shard.parent = TextOf(json);
    if (name == "SequenceNumberRange") shard.first_sequence = ReadFirstSequence(json.get_object());
  });
  if (shard.id.empty()) throw UnexpectedJson{"a shard without ShardId"};
  return shard;
}

StreamPage ReadStreamPage(JsonObject fields) {
  StreamPage page;
  ForMembers(fields, [&](std::string_view name, JsonValue json) {
    if (name == "StreamStatus") page.status = TextOf(json);
    if (name == "LastEvaluatedShardId") page.last_shard = TextOf(json);
    if (name != "Shards") return;
    for (auto shard : json.get_array()) page.shards.push_back(ReadStreamShard(shard.get_object()));
  });
  return page;
}

}  // namespace

std::string DescribeStreamBody(std::string_view stream_arn, std::string_view start_after) {
  std::string body = fmt::format(R"({{"StreamArn":{})", JsonText(stream_arn));
  if (!start_after.empty()) {
    body += fmt::format(R"(,"ExclusiveStartShardId":{})", JsonText(start_after));
  }
  return body + '}';
}

Result<StreamPage> ReadDescribeStream(std::string_view body) {
  std::optional<StreamPage> page;
  WEIR_RETURN_IF_ERROR(
      ReadResponse("DescribeStream", body, [&](std::string_view name, JsonValue json) {
        if (name == "StreamDescription") page = ReadStreamPage(json.get_object());
      }));
  if (!page) return MalformedResponse("DescribeStream", "no StreamDescription");
  return *std::move(page);
}

std::string ShardIteratorBody(std::string_view stream_arn, std::string_view shard,
                              const ShardPosition& position) {
  std::string body = fmt::format(R"({{"StreamArn":{},"ShardId":{},"ShardIteratorType":"{}")",
                                 JsonText(stream_arn), JsonText(shard), IteratorType(position.at));
  if (position.at == ShardPosition::At::kAt || position.at == ShardPosition::At::kAfter) {
    body += fmt::format(R"(,"SequenceNumber":"{}")", PadSequenceNumber(position.sequence_number));
  }
  return body + '}';
}

Result<std::string> ReadShardIterator(std::string_view body) {
  std::string iterator;
  WEIR_RETURN_IF_ERROR(
      ReadResponse("GetShardIterator", body, [&](std::string_view name, JsonValue json) {
        if (name == "ShardIterator") iterator = TextOf(json);
      }));
  if (iterator.empty()) return MalformedResponse("GetShardIterator", "no ShardIterator");
  return iterator;
}

std::string GetRecordsBody(std::string_view iterator, std::size_t limit) {
  return fmt::format(R"({{"ShardIterator":{},"Limit":{}}})", JsonText(iterator), limit);
}

}  // namespace weir::dynamo
