#include "weir/sim/kinesis/kinesis_world.h"

#include <algorithm>
#include <utility>

namespace weir::sim {
namespace {

constexpr std::string_view kArnPrefix = "arn:aws:kinesis:us-east-1:123456789012:stream/";

/// Draws uniformly from the hashes at which the second half of a split may begin.
Hash128 DrawStart(const HashSpan& range, Rng& rng) {
  const Hash128 drawn = Hash128{rng.Next()} << 64 | rng.Next();
  return range.first + 1 + drawn % (range.last - range.first);
}

}  // namespace

void Refuse(std::string type, std::string message) {
  throw Refusal{.type = std::move(type), .message = std::move(message)};
}

void RefuseMember(std::string_view member, std::string_view must) {
  RefuseInvalid("1 validation error detected: Value at '" + std::string(member) +
                "' failed to satisfy constraint: Member must " + std::string(must));
}

std::uint64_t NumberIn(const RequestFields& fields, std::string_view name, std::uint64_t least,
                       std::uint64_t most) {
  const nlohmann::json& found = fields.Get(name);
  if (!found.is_number_integer()) {
    Refuse("SerializationException", std::string(name) + ": no number");
  }
  const bool fits = found.is_number_unsigned() && found.get<std::uint64_t>() >= least &&
                    found.get<std::uint64_t>() <= most;
  if (!fits) {
    RefuseMember(name,
                 "have a value from " + std::to_string(least) + " to " + std::to_string(most));
  }
  return found.get<std::uint64_t>();
}

std::uint64_t ShardIn(const KinesisStream& stream, const std::string& name) {
  const auto shard = ReadShardName(name);
  if (shard && *shard < stream.shards().size()) return *shard;
  Refuse("ResourceNotFoundException", "Could not find shard " + name + " in stream " +
                                          stream.name() + " under account 123456789012.");
}

KinesisStream& KinesisWorld::StreamOf(const RequestFields& fields) {
  if (fields.Has("StreamName") == fields.Has("StreamARN")) {
    Refuse("InvalidArgumentException", "give one of StreamName and StreamARN");
  }
  if (fields.Has("StreamName")) return StreamNamed(fields.Text("StreamName"));
  const std::string arn = fields.Text("StreamARN");
  if (!arn.starts_with("arn:")) {
    RefuseMember("streamARN", "satisfy regular expression pattern: arn:.*");
  }
  return StreamNamed(arn.starts_with(kArnPrefix) ? arn.substr(kArnPrefix.size()) : arn);
}

KinesisStream& KinesisWorld::StreamNamed(std::string_view name) {
  const auto found = streams.find(name);
  if (found != streams.end()) return found->second;
  Refuse("ResourceNotFoundException",
         "Stream " + std::string(name) + " under account 123456789012 not found.");
}

void KinesisWorld::Reshard(KinesisStream& stream) {
  const std::vector<std::uint64_t> open = stream.OpenShards();
  const std::uint64_t shard = open[details.Below(open.size())];
  const bool merge = details.Chance(0.5);
  const HashSpan range = stream.shards()[shard].range;
  if (merge && range.last != kLastHash) {
    stream.Merge(shard, stream.ShardOf(range.last + 1).number, clock.Now());
    ++counts.merges;
  } else if (CanAddShards(stream, 1) && range.first < range.last) {
    stream.Split(shard, DrawStart(range, details), clock.Now());
    ++counts.splits;
  }
}

}  // namespace weir::sim
