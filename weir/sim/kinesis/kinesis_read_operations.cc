#include "weir/sim/kinesis/kinesis_read_operations.h"

#include <algorithm>
#include <utility>

#include "weir/base/integer_text.h"

namespace weir::sim {
namespace {

using nlohmann::json;

constexpr milliseconds kIteratorLives = std::chrono::minutes(5);
constexpr std::uint64_t kMaxRecords = 10'000;
constexpr std::size_t kMaxBytesRead = std::size_t{10} << 20;

/// An iterator. Its text is "i:shard:sequence:issued:stream".
struct Iterator {
  std::uint64_t shard = 0;
  std::uint64_t sequence = 0;  ///< the lowest sequence number that it returns
  std::int64_t issued = 0;     ///< ms
  std::string stream;
};

std::string Write(const Iterator& at) {
  return "i:" + std::to_string(at.shard) + ":" + std::to_string(at.sequence) + ":" +
         std::to_string(at.issued) + ":" + at.stream;
}

std::optional<Iterator> ReadIterator(std::string_view text) {
  if (!text.starts_with("i:")) return std::nullopt;
  text.remove_prefix(2);
  std::int64_t numbers[3] = {};
  for (std::int64_t& number : numbers) {
    const std::size_t end = text.find(':');
    const auto read = ReadInteger<std::int64_t>(text.substr(0, end));
    if (end == text.npos || !read || *read < 0) return std::nullopt;
    number = *read;
    text.remove_prefix(end + 1);
  }
  return Iterator{.shard = static_cast<std::uint64_t>(numbers[0]),
                  .sequence = static_cast<std::uint64_t>(numbers[1]),
                  .issued = numbers[2],
                  .stream = std::string(text)};
}

std::uint64_t SequenceIn(const KinesisShard& shard, const RequestFields& fields) {
  const std::string text = fields.Text("StartingSequenceNumber");
  const auto sequence = ReadSequence(text);
  const bool of_shard = sequence && *sequence >= shard.first_sequence &&
                        (shard.open() || *sequence <= *shard.last_sequence);
  if (of_shard) return *sequence;
  Refuse("InvalidArgumentException",
         "StartingSequenceNumber " + text + " is none of " + ShardName(shard.number));
}

std::uint64_t FirstOf(const KinesisStream& stream, const KinesisShard& shard,
                      const RequestFields& fields) {
  const std::string type =
      fields.Choice("ShardIteratorType",
                    {"TRIM_HORIZON", "LATEST", "AT_SEQUENCE_NUMBER", "AFTER_SEQUENCE_NUMBER"});
  if (type == "TRIM_HORIZON") return shard.first_sequence;
  if (type == "LATEST") return stream.next_sequence();
  return SequenceIn(shard, fields) + (type == "AFTER_SEQUENCE_NUMBER" ? 1 : 0);
}

json ToJson(const StoredRecord& record) {
  json one = {{"SequenceNumber", SequenceText(record.sequence)},
              {"PartitionKey", record.partition_key}};
  one["ApproximateArrivalTimestamp"] = static_cast<double>(record.arrived.value) / 1000;
  one["Data"] = json::binary({record.data.begin(), record.data.end()});
  return one;
}

Iterator IteratorIn(const KinesisWorld& world, const RequestFields& fields) {
  const auto at = ReadIterator(fields.Text("ShardIterator"));
  if (!at) Refuse("InvalidArgumentException", "Invalid ShardIterator.");
  if (world.clock.WallNow() - UnixMillis{at->issued} > kIteratorLives) {
    Refuse("ExpiredIteratorException", "Iterator expired: it is older than 5 minutes.");
  }
  return *at;
}

json ChildrenOf(const KinesisStream& stream, const KinesisShard& shard) {
  json children = json::array();
  for (const std::uint64_t number : shard.children) {
    const KinesisShard& child = stream.shards()[number];
    json one = {{"ShardId", ShardName(number)}, {"ParentShards", json::array()}};
    for (const std::uint64_t parent : child.parents) {
      one["ParentShards"].push_back(ShardName(parent));
    }
    one["HashKeyRange"] = {{"StartingHashKey", WriteHash(child.range.first)},
                           {"EndingHashKey", WriteHash(child.range.last)}};
    children.push_back(std::move(one));
  }
  return children;
}

/// Reads up to `most` records and moves the iterator behind them.
json Read(const KinesisShard& shard, Iterator& at, std::uint64_t most) {
  json records = json::array();
  std::size_t bytes = 0;
  const auto first = std::ranges::lower_bound(shard.log, at.sequence, {}, &StoredRecord::sequence);
  for (auto record = first; record != shard.log.end() && records.size() < most; ++record) {
    bytes += record->data.size() + record->partition_key.size();
    if (bytes > kMaxBytesRead && !records.empty()) break;
    records.push_back(ToJson(*record));
    at.sequence = record->sequence + 1;
  }
  return records;
}

}  // namespace

json GetShardIterator(KinesisWorld& world, const json& body) {
  const RequestFields fields(
      body, {"StreamName", "StreamARN", "ShardId", "ShardIteratorType", "StartingSequenceNumber"});
  const KinesisStream& stream = world.StreamOf(fields);
  const KinesisShard& shard = stream.shards()[ShardIn(stream, fields.Text("ShardId"))];
  fields.Get("ShardIteratorType");
  const Iterator at{.shard = shard.number,
                    .sequence = FirstOf(stream, shard, fields),
                    .issued = world.clock.WallNow().value,
                    .stream = stream.name()};
  return {{"ShardIterator", Write(at)}};
}

json GetRecords(KinesisWorld& world, const json& body) {
  const RequestFields fields(body, {"ShardIterator", "Limit", "StreamARN"});
  Iterator at = IteratorIn(world, fields);
  const KinesisStream& stream = world.StreamNamed(at.stream);
  const KinesisShard& shard = stream.shards()[ShardIn(stream, ShardName(at.shard))];
  const std::uint64_t most =
      fields.Has("Limit") ? NumberIn(fields, "Limit", 1, kMaxRecords) : kMaxRecords;
  json response = {{"Records", Read(shard, at, most)}};
  const auto next = std::ranges::lower_bound(shard.log, at.sequence, {}, &StoredRecord::sequence);
  const bool at_end = next == shard.log.end();
  response["MillisBehindLatest"] = at_end ? 0 : (world.clock.WallNow() - next->arrived).count();
  if (at_end && !shard.open()) {
    response["ChildShards"] = ChildrenOf(stream, shard);
  } else {
    at.issued = world.clock.WallNow().value;
    response["NextShardIterator"] = Write(at);
  }
  return response;
}

}  // namespace weir::sim
