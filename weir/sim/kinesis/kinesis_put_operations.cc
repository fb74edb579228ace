#include "weir/sim/kinesis/kinesis_put_operations.h"

#include <utility>
#include <vector>

namespace weir::sim {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxEntries = 500;
constexpr std::size_t kLongestKey = 256;
constexpr std::string_view kThrottle = "ProvisionedThroughputExceededException";

struct EntryToPut {
  std::string partition_key;
  std::string data{};
  Hash128 hash = 0;

  std::size_t bytes() const { return partition_key.size() + data.size(); }
};

/// The outcome of one entry: stored, or an error code.
struct PutOutcome {
  std::string shard{};
  std::string sequence_number{};
  std::string code{};
  std::string message{};
};

/// Counts UTF-8 characters by their lead bytes. Returns nothing if a lead byte or a length is
/// invalid; continuation bytes are not checked.
std::optional<std::size_t> CountCharacters(std::string_view text) {
  std::size_t characters = 0;
  while (!text.empty()) {
    const auto lead = static_cast<unsigned char>(text.front());
    const std::size_t length = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    if ((lead >= 0x80 && lead < 0xC0) || length > text.size()) return std::nullopt;
    text.remove_prefix(length);
    ++characters;
  }
  return characters;
}

std::string ReadKey(const RequestFields& fields) {
  std::string key = fields.Text("PartitionKey");
  const auto characters = CountCharacters(key);
  if (!characters) Refuse("SerializationException", "PartitionKey is not a string");
  if (*characters == 0) RefuseMember("partitionKey", "have length greater than or equal to 1");
  if (*characters > kLongestKey) {
    RefuseMember("partitionKey", "have length less than or equal to 256");
  }
  return key;
}

Hash128 ReadExplicitHash(const std::string& text) {
  const bool leads_with_zero = text.size() > 1 && text.front() == '0';
  const bool is_number = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
  if (leads_with_zero || !is_number || text.size() > 39) {
    RefuseMember("explicitHashKey", R"(satisfy regular expression pattern: 0|([1-9]\d{0,38}))");
  }
  if (const auto hash = ReadHash(text)) return *hash;
  Refuse("InvalidArgumentException",
         "Invalid ExplicitHashKey. ExplicitHashKey must be in the range: [0, 2^128-1]. "
         "Specified value was " +
             text);
}

EntryToPut ReadEntry(const KinesisWorld& world, const RequestFields& fields) {
  EntryToPut entry{.partition_key = ReadKey(fields)};
  const json& data = fields.Get("Data");
  if (!data.is_binary()) Refuse("SerializationException", "Data is not a blob");
  const auto& bytes = data.get_binary();
  entry.data.assign(bytes.begin(), bytes.end());
  if (entry.bytes() > world.options.max_record_bytes) {
    RefuseMember("data", "have length less than or equal to " +
                             std::to_string(world.options.max_record_bytes) +
                             ", the partition key included");
  }
  entry.hash = fields.Has("ExplicitHashKey") ? ReadExplicitHash(fields.Text("ExplicitHashKey"))
                                             : HashOfKey(entry.partition_key);
  return entry;
}

std::vector<EntryToPut> ReadEntries(const KinesisWorld& world, const json& records) {
  if (records.empty()) RefuseMember("records", "have length greater than or equal to 1");
  if (records.size() > kMaxEntries) {
    RefuseMember("records", "have length less than or equal to 500");
  }
  std::vector<EntryToPut> entries;
  std::size_t bytes = 0;
  for (const json& record : records) {
    entries.push_back(
        ReadEntry(world, RequestFields(record, {"Data", "PartitionKey", "ExplicitHashKey"})));
    bytes += entries.back().bytes();
  }
  if (bytes > world.options.max_request_bytes) {
    Refuse("InvalidArgumentException", "Records size exceeds " +
                                           std::to_string(world.options.max_request_bytes >> 20) +
                                           " MB limit");
  }
  return entries;
}

PutOutcome Throttled(const KinesisStream& stream, const KinesisShard& shard) {
  return {.code = std::string(kThrottle),
          .message = "Rate exceeded for shard " + ShardName(shard.number) + " in stream " +
                     stream.name() + " under account 123456789012."};
}

PutOutcome InternalFailure() {
  return {.code = "InternalFailure", .message = "Internal Service Failure"};
}

// Makes all draws first, so that each entry makes the same number of draws.
PutOutcome Put(KinesisWorld& world, KinesisStream& stream, EntryToPut entry) {
  const bool throttled = world.rng.Chance(world.faults.throttle);
  const bool fails_before = world.rng.Chance(world.faults.fail_before);
  const bool fails_after = world.rng.Chance(world.faults.fail_after);
  KinesisShard& shard = stream.ShardOf(entry.hash);
  if (throttled) {
    ++world.counts.throttled;
    return Throttled(stream, shard);
  }
  if (fails_before) {
    ++world.counts.failed_before;
    return InternalFailure();
  }
  if (!shard.quota.Take(static_cast<std::int64_t>(entry.bytes()), world.clock.Now())) {
    ++world.counts.over_limit;
    return Throttled(stream, shard);
  }
  const StoredRecord& stored = stream.Store(shard, {.partition_key = std::move(entry.partition_key),
                                                    .data = std::move(entry.data),
                                                    .arrived = world.clock.WallNow()});
  ++world.counts.stored;
  if (fails_after) {
    ++world.counts.failed_after;
    return InternalFailure();
  }
  return {.shard = ShardName(shard.number), .sequence_number = SequenceText(stored.sequence)};
}

json ToJson(const PutOutcome& outcome) {
  if (!outcome.code.empty()) {
    return {{"ErrorCode", outcome.code}, {"ErrorMessage", outcome.message}};
  }
  return {{"ShardId", outcome.shard}, {"SequenceNumber", outcome.sequence_number}};
}

// Removes or repeats one result, drawn at random.
void Miscount(KinesisWorld& world, json& results) {
  ++world.counts.miscounted;
  const std::size_t place = world.details.Below(results.size());
  if (world.details.Chance(0.5)) {
    results.erase(place);
  } else {
    json again = results[place];
    results.insert(results.begin() + static_cast<std::ptrdiff_t>(place), std::move(again));
  }
}

}  // namespace

json PutRecords(KinesisWorld& world, const json& body) {
  const RequestFields fields(body, {"StreamName", "StreamARN", "Records"});
  std::vector<EntryToPut> entries = ReadEntries(world, fields.List("Records"));
  KinesisStream& stream = world.StreamOf(fields);
  if (world.reshard) world.Reshard(stream);
  json results = json::array();
  std::uint64_t failed = 0;
  for (EntryToPut& entry : entries) {
    const PutOutcome outcome = Put(world, stream, std::move(entry));
    if (!outcome.code.empty()) ++failed;
    results.push_back(ToJson(outcome));
  }
  if (world.miscount) Miscount(world, results);
  return {{"FailedRecordCount", failed}, {"Records", std::move(results)}};
}

json PutRecord(KinesisWorld& world, const json& body) {
  const RequestFields fields(
      body, {"StreamName", "StreamARN", "Data", "PartitionKey", "ExplicitHashKey"});
  EntryToPut entry = ReadEntry(world, fields);
  KinesisStream& stream = world.StreamOf(fields);
  if (world.reshard) world.Reshard(stream);
  const PutOutcome outcome = Put(world, stream, std::move(entry));
  if (outcome.code.empty()) return ToJson(outcome);
  throw Refusal{.type = outcome.code,
                .message = outcome.message,
                .status = outcome.code == kThrottle ? 400 : 500};
}

}  // namespace weir::sim
