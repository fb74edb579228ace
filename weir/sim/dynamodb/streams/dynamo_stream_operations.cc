#include "weir/sim/dynamodb/streams/dynamo_stream_operations.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "weir/base/integer_text.h"
#include "weir/sim/dynamodb/streams/dynamo_stream.h"

namespace weir::sim {
namespace {

using nlohmann::json;

constexpr nanoseconds kIteratorLife = std::chrono::minutes(15);
constexpr std::uint64_t kMaxStreamRecords = 1'000;

[[noreturn]] void RefuseUnknown(const std::string& what) {
  throw Refusal{.type = "ResourceNotFoundException",
                .message = "Requested resource not found: " + what};
}

[[noreturn]] void RefuseTrimmed() {
  throw Refusal{.type = "TrimmedDataAccessException",
                .message =
                    "The operation attempted to read past the oldest stream record in a "
                    "shard."};
}

TableEntry& FindStream(DynamoWorld& world, const std::string& arn) {
  for (auto& [name, entry] : world.tables) {
    if (entry.stream && entry.description.value("LatestStreamArn", "") == arn) return entry;
  }
  RefuseUnknown("Stream: " + arn + " not found");
}

/// Returns whether the shard has been removed with its records.
bool IsGone(const DynamoWorld& world, const DynamoShard& shard) {
  return shard.end && world.clock.WallNow() - shard.closed >= world.faults.stream_retention;
}

const DynamoShard& FindShard(const DynamoWorld& world, const TableEntry& entry,
                             const std::string& id) {
  const DynamoShard* shard = entry.stream->Find(id);
  if (shard == nullptr || IsGone(world, *shard)) RefuseUnknown("Shard: " + id + " not found");
  return *shard;
}

/// Returns the index of the first record of the table's stream with at least this number.
std::size_t IndexFrom(std::uint64_t number) { return number == 0 ? 0 : number - 1; }

/// Returns whether the shard had a record with at least this number that is trimmed.
bool HasTrimmed(const DynamoWorld& world, const TableEntry& entry, const DynamoShard& shard,
                std::uint64_t from) {
  const std::vector<StreamRecord>& records = entry.table.stream();
  for (std::size_t i = IndexFrom(from); i < records.size() && IsTrimmed(world, records[i]); ++i) {
    if (entry.stream->Contains(shard, records[i])) return true;
  }
  return false;
}

std::uint64_t FirstUntrimmed(const DynamoWorld& world, const TableEntry& entry) {
  const auto& records = entry.table.stream();
  const auto found = std::ranges::find_if(
      records, [&](const StreamRecord& record) { return !IsTrimmed(world, record); });
  return static_cast<std::uint64_t>(found - records.begin()) + 1;
}

/// Returns the number from which the iterator of a request reads.
std::uint64_t StartOf(const DynamoWorld& world, const TableEntry& entry, const DynamoShard& shard,
                      const RequestFields& fields) {
  const std::string type =
      fields.Choice("ShardIteratorType",
                    {"TRIM_HORIZON", "LATEST", "AT_SEQUENCE_NUMBER", "AFTER_SEQUENCE_NUMBER"});
  if (type == "TRIM_HORIZON") return std::max(shard.first, FirstUntrimmed(world, entry));
  if (type == "LATEST") return std::max(shard.first, entry.table.stream().size() + 1);
  const auto number = ReadSequenceText(fields.Text("SequenceNumber"));
  if (!number || *number < shard.first || (shard.end && *number > *shard.end)) {
    RefuseInvalid("Invalid SequenceNumber: it is not in the shard");
  }
  if (type == "AT_SEQUENCE_NUMBER") {
    if (HasTrimmed(world, entry, shard, *number)) RefuseTrimmed();
    return *number;
  }
  const auto& records = entry.table.stream();
  if (IndexFrom(*number) < records.size() && IsTrimmed(world, records[IndexFrom(*number)])) {
    RefuseTrimmed();
  }
  return *number + 1;
}

/// The contents of an iterator.
struct DynamoIterator {
  std::string arn;
  std::string shard;
  std::uint64_t next = 0;
  std::int64_t issued = 0;  ///< Instant::nanos
};

std::string ToText(const DynamoIterator& iterator) {
  return fmt::format("{}|{}|{}|{}", iterator.arn, iterator.shard, iterator.next, iterator.issued);
}

DynamoIterator ReadStreamIterator(std::string_view text) {
  std::vector<std::string_view> parts;
  for (std::size_t at = 0; at != text.npos; at = text.find('|')) {
    if (at != 0 || !parts.empty()) text.remove_prefix(at + 1);
    parts.push_back(text.substr(0, text.find('|')));
  }
  const auto next = parts.size() == 4 ? ReadInteger<std::uint64_t>(parts[2]) : std::nullopt;
  const auto issued = parts.size() == 4 ? ReadInteger<std::int64_t>(parts[3]) : std::nullopt;
  if (!next || !issued) RefuseInvalid("Invalid ShardIterator");
  return {std::string(parts[0]), std::string(parts[1]), *next, *issued};
}

json RangeOfShard(const DynamoShard& shard) {
  json range = {{"StartingSequenceNumber", ToSequenceText(shard.first)}};
  if (shard.end) range["EndingSequenceNumber"] = ToSequenceText(*shard.end);
  return range;
}

const char* EventName(const StreamRecord& record) {
  if (!record.before) return "INSERT";
  return record.after ? "MODIFY" : "REMOVE";
}

json RecordOf(const StreamRecord& record) {
  json change = {{"ApproximateCreationDateTime", record.at.value / 1000},
                 {"Keys", WriteItem(record.key)},
                 {"SequenceNumber", ToSequenceText(record.sequence)},
                 {"SizeBytes", 100},
                 {"StreamViewType", "NEW_AND_OLD_IMAGES"}};
  if (record.before) change["OldImage"] = WriteItem(*record.before);
  if (record.after) change["NewImage"] = WriteItem(*record.after);
  json whole = {{"eventID", std::to_string(record.sequence)},
                {"eventName", EventName(record)},
                {"eventVersion", "1.1"},
                {"eventSource", "aws:dynamodb"},
                {"awsRegion", "eu-west-1"},
                {"dynamodb", std::move(change)}};
  if (record.by_ttl) {
    whole["userIdentity"] = {{"PrincipalId", "dynamodb.amazonaws.com"}, {"Type", "Service"}};
  }
  return whole;
}

}  // namespace

bool IsTrimmed(const DynamoWorld& world, const StreamRecord& record) {
  return world.clock.WallNow() - record.at >= world.faults.stream_retention;
}

json DescribeStream(DynamoWorld& world, const json& body) {
  const RequestFields fields(body, {"StreamArn", "ExclusiveStartShardId", "Limit"});
  const TableEntry& entry = FindStream(world, fields.Text("StreamArn"));
  const std::string after = fields.TextOr("ExclusiveStartShardId", "");
  json shards = json::array();
  json description = {{"StreamArn", fields.Text("StreamArn")}, {"StreamStatus", "ENABLED"}};
  for (const DynamoShard& shard : entry.stream->shards()) {
    if (shard.id <= after || IsGone(world, shard)) continue;
    if (shards.size() == world.faults.stream_page) {
      description["LastEvaluatedShardId"] = shards.back()["ShardId"];
      break;
    }
    shards.push_back({{"ShardId", shard.id}, {"SequenceNumberRange", RangeOfShard(shard)}});
    if (!shard.parent.empty()) shards.back()["ParentShardId"] = shard.parent;
  }
  description["Shards"] = std::move(shards);
  return {{"StreamDescription", std::move(description)}};
}

json GetShardIterator(DynamoWorld& world, const json& body) {
  const RequestFields fields(body, {"StreamArn", "ShardId", "ShardIteratorType", "SequenceNumber"});
  const TableEntry& entry = FindStream(world, fields.Text("StreamArn"));
  const DynamoShard& shard = FindShard(world, entry, fields.Text("ShardId"));
  const DynamoIterator iterator{.arn = fields.Text("StreamArn"),
                                .shard = shard.id,
                                .next = StartOf(world, entry, shard, fields),
                                .issued = world.clock.Now().nanos};
  return {{"ShardIterator", ToText(iterator)}};
}

json GetStreamRecords(DynamoWorld& world, const json& body) {
  const RequestFields fields(body, {"ShardIterator", "Limit"});
  const bool is_empty = world.rng.Chance(world.faults.empty_stream_page);
  DynamoIterator iterator = ReadStreamIterator(fields.Text("ShardIterator"));
  TableEntry& entry = FindStream(world, iterator.arn);
  const DynamoShard& shard = FindShard(world, entry, iterator.shard);
  const Instant now = world.clock.Now();
  if (now - Instant{iterator.issued} >= kIteratorLife) {
    ++world.counts.expired_iterators;
    throw Refusal{.type = "ExpiredIteratorException", .message = "Iterator expired"};
  }
  if (!entry.stream->CountRead(shard.id, now)) {
    ++world.counts.limited_reads;
    throw Refusal{.type = "LimitExceededException", .message = "too many reads of the shard"};
  }
  if (HasTrimmed(world, entry, shard, iterator.next)) RefuseTrimmed();

  const std::uint64_t limit = body.value("Limit", kMaxStreamRecords);
  const std::uint64_t end = shard.end.value_or(entry.table.stream().size() + 1);
  json records = json::array();
  for (; !is_empty && iterator.next < end && records.size() < limit; ++iterator.next) {
    const StreamRecord& record = entry.table.stream()[IndexFrom(iterator.next)];
    if (entry.stream->Contains(shard, record)) records.push_back(RecordOf(record));
  }
  json response = {{"Records", std::move(records)}};
  iterator.issued = now.nanos;
  if (!shard.end || iterator.next < *shard.end) response["NextShardIterator"] = ToText(iterator);
  return response;
}

}  // namespace weir::sim
