#include "weir/sim/kinesis/kinesis_stream_operations.h"

#include <algorithm>
#include <utility>

#include "weir/base/integer_text.h"

namespace weir::sim {
namespace {

using nlohmann::json;

constexpr milliseconds kTokenLives = std::chrono::seconds(300);
constexpr std::uint64_t kMaxRequested = 10'000;

/// The position at which a listing continues. Its text is "t0:12:1767225600013:name".
struct ListToken {
  std::string stream;
  std::uint64_t shard = 0;
  bool open_only = false;
  std::int64_t issued = 0;  ///< ms
};

std::string Write(const ListToken& token) {
  return (token.open_only ? "t1:" : "t0:") + std::to_string(token.shard) + ":" +
         std::to_string(token.issued) + ":" + token.stream;
}

std::optional<ListToken> ReadToken(std::string_view text) {
  if (!text.starts_with("t0:") && !text.starts_with("t1:")) return std::nullopt;
  ListToken token{.stream = {}, .open_only = text[1] == '1'};
  text.remove_prefix(3);
  const std::size_t first = text.find(':');
  const std::size_t second = first == text.npos ? text.npos : text.find(':', first + 1);
  if (second == text.npos) return std::nullopt;
  const auto shard = ReadInteger<std::uint64_t>(text.substr(0, first));
  const auto issued = ReadInteger<std::int64_t>(text.substr(first + 1, second - first - 1));
  if (!shard || !issued) return std::nullopt;
  token.shard = *shard;
  token.issued = *issued;
  token.stream = text.substr(second + 1);
  return token;
}

ListToken TokenIn(const KinesisWorld& world, const RequestFields& fields) {
  if (fields.Has("StreamName") || fields.Has("StreamARN") || fields.Has("ShardFilter")) {
    Refuse("InvalidArgumentException",
           "NextToken cannot be provided together with StreamName, StreamARN or ShardFilter.");
  }
  const auto token = ReadToken(fields.Text("NextToken"));
  if (!token) Refuse("InvalidArgumentException", "NextToken is none of this service");
  if (world.clock.WallNow() - UnixMillis{token->issued} > kTokenLives) {
    Refuse("ExpiredNextTokenException", "NextToken has expired");
  }
  return *token;
}

bool WantsOpen(const RequestFields& fields) {
  if (!fields.Has("ShardFilter")) return false;
  const RequestFields filter(fields.Get("ShardFilter"), {"Type"});
  const std::string type = filter.Text("Type");
  if (type != "AT_LATEST") RefuseInvalid("not simulated: the ShardFilter " + type);
  return true;
}

ListToken FirstPage(KinesisWorld& world, const RequestFields& fields) {
  return {.stream = world.StreamOf(fields).name(), .open_only = WantsOpen(fields)};
}

json RangeOf(const KinesisShard& shard) {
  return {{"StartingHashKey", WriteHash(shard.range.first)},
          {"EndingHashKey", WriteHash(shard.range.last)}};
}

json ToJson(const KinesisShard& shard) {
  json one = {{"ShardId", ShardName(shard.number)}, {"HashKeyRange", RangeOf(shard)}};
  one["SequenceNumberRange"]["StartingSequenceNumber"] = SequenceText(shard.first_sequence);
  if (!shard.open()) {
    one["SequenceNumberRange"]["EndingSequenceNumber"] = SequenceText(*shard.last_sequence);
  }
  if (!shard.parents.empty()) one["ParentShardId"] = ShardName(shard.parents[0]);
  if (shard.parents.size() > 1) one["AdjacentParentShardId"] = ShardName(shard.parents[1]);
  return one;
}

void RefuseFull(const KinesisWorld& world) {
  Refuse("LimitExceededException",
         "more than " + std::to_string(world.options.max_open_shards) + " shards would be open");
}

}  // namespace

json ListShards(KinesisWorld& world, const json& body) {
  const RequestFields fields(body,
                             {"StreamName", "StreamARN", "NextToken", "MaxResults", "ShardFilter"});
  if (world.refuse_list) {
    ++world.counts.refused_lists;
    Refuse("LimitExceededException", "Rate exceeded for ListShards.");
  }
  ListToken token = fields.Has("NextToken") ? TokenIn(world, fields) : FirstPage(world, fields);
  std::size_t room = world.options.max_listed;
  if (fields.Has("MaxResults")) {
    room = std::min(room, NumberIn(fields, "MaxResults", 1, kMaxRequested));
  }
  json response = {{"Shards", json::array()}};
  const auto& shards = world.StreamNamed(token.stream).shards();
  for (; token.shard < shards.size() && response["Shards"].size() < room; ++token.shard) {
    const KinesisShard& shard = shards[token.shard];
    if (shard.open() || !token.open_only) response["Shards"].push_back(ToJson(shard));
  }
  token.issued = world.clock.WallNow().value;
  if (token.shard < shards.size()) response["NextToken"] = Write(token);
  return response;
}

json DescribeStreamSummary(KinesisWorld& world, const json& body) {
  const KinesisStream& stream = world.StreamOf(RequestFields(body, {"StreamName", "StreamARN"}));
  json summary = {{"StreamName", stream.name()},
                  {"StreamARN", stream.arn()},
                  {"StreamStatus", "ACTIVE"},
                  {"RetentionPeriodHours", 24},
                  {"OpenShardCount", stream.OpenShards().size()},
                  {"ConsumerCount", 0},
                  {"EncryptionType", "NONE"}};
  summary["StreamModeDetails"]["StreamMode"] = "PROVISIONED";
  summary["EnhancedMonitoring"] = json::array();
  return {{"StreamDescriptionSummary", std::move(summary)}};
}

json CreateStream(KinesisWorld& world, const json& body) {
  const RequestFields fields(body, {"StreamName", "ShardCount"});
  const std::string name = fields.Text("StreamName");
  if (name.empty() || name.size() > 128 || name.find_first_of(":/") != std::string::npos) {
    RefuseMember("streamName", "satisfy regular expression pattern: [a-zA-Z0-9_.-]+");
  }
  const std::uint64_t shards = NumberIn(fields, "ShardCount", 1, 1'000'000);
  if (shards > world.options.max_open_shards) RefuseFull(world);
  KinesisStream stream(name, shards, world.options.limits, world.clock.Now());
  if (!world.streams.emplace(name, std::move(stream)).second) {
    Refuse("ResourceInUseException",
           "Stream " + name + " under account 123456789012 already exists.");
  }
  return nullptr;
}

json SplitShard(KinesisWorld& world, const json& body) {
  const RequestFields fields(body,
                             {"StreamName", "StreamARN", "ShardToSplit", "NewStartingHashKey"});
  KinesisStream& stream = world.StreamOf(fields);
  const std::uint64_t shard = ShardIn(stream, fields.Text("ShardToSplit"));
  const auto start = ReadHash(fields.Text("NewStartingHashKey"));
  if (!world.CanAddShards(stream, 1)) RefuseFull(world);
  if (!start || !stream.Split(shard, *start, world.clock.Now())) {
    Refuse("InvalidArgumentException",
           "NewStartingHashKey must be inside of a shard that is open, after its first hash key");
  }
  return nullptr;
}

json MergeShards(KinesisWorld& world, const json& body) {
  const RequestFields fields(body,
                             {"StreamName", "StreamARN", "ShardToMerge", "AdjacentShardToMerge"});
  KinesisStream& stream = world.StreamOf(fields);
  const std::uint64_t one = ShardIn(stream, fields.Text("ShardToMerge"));
  const std::uint64_t other = ShardIn(stream, fields.Text("AdjacentShardToMerge"));
  if (!stream.Merge(one, other, world.clock.Now())) {
    Refuse("InvalidArgumentException", "the shards must be open and adjacent");
  }
  return nullptr;
}

}  // namespace weir::sim
