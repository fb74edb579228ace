#include "weir/kinesis/wire.h"

#include <absl/strings/escaping.h>
#include <fmt/format.h>
#include <simdjson.h>

#include <utility>

#include "weir/aws/json_text.h"

namespace weir::kinesis {
namespace {

using simdjson::ondemand::array;
using simdjson::ondemand::document;
using simdjson::ondemand::field;
using simdjson::ondemand::object;
using simdjson::ondemand::parser;
using Json = simdjson::ondemand::value;

// Around the data of an entry: names, quotes and a hash key.
constexpr std::size_t kEntryFrame = 120;

void AppendMember(std::string& out, std::string_view name, std::string_view text) {
  AppendJson(out, name);
  out += ':';
  AppendJson(out, text);
}

void AppendStream(std::string& out, const StreamAddress& stream) {
  if (stream.arn.empty()) {
    AppendMember(out, "StreamName", stream.name);
  } else {
    AppendMember(out, "StreamARN", stream.arn);
  }
}

void AppendBase64(std::string& out, std::string_view bytes) {
  // absl has a string_view of its own, and writes whole strings.
  out += '"';
  out += absl::Base64Escape({bytes.data(), bytes.size()});
  out += '"';
}

void AppendEntry(std::string& out, const KinesisRecord& record) {
  out += R"({"Data":)";
  AppendBase64(out, record.data);
  out += ',';
  AppendMember(out, "PartitionKey", record.partition_key);
  if (record.explicit_hash_key) {
    out += ',';
    AppendMember(out, "ExplicitHashKey", *record.explicit_hash_key);
  }
  out += '}';
}

std::string TextOf(Json json) {
  if (json.is_null()) return "";
  return std::string(std::string_view(json.get_string()));
}

EntryAnswer ReadEntry(object fields) {
  EntryAnswer entry;
  for (field member : fields) {
    const std::string name(std::string_view(member.unescaped_key()));
    if (name == "ShardId") entry.shard = TextOf(member.value());
    if (name == "SequenceNumber") entry.sequence_number = TextOf(member.value());
    if (name == "ErrorCode") entry.code = TextOf(member.value());
    if (name == "ErrorMessage") entry.message = TextOf(member.value());
  }
  return entry;
}

struct ShardText {
  std::string id;
  std::string first;
  std::string last;
};

void ReadRange(object fields, ShardText& shard) {
  for (field member : fields) {
    const std::string name(std::string_view(member.unescaped_key()));
    if (name == "StartingHashKey") shard.first = TextOf(member.value());
    if (name == "EndingHashKey") shard.last = TextOf(member.value());
  }
}

ShardText ReadShard(object fields) {
  ShardText shard;
  for (field member : fields) {
    const std::string name(std::string_view(member.unescaped_key()));
    if (name == "ShardId") shard.id = TextOf(member.value());
    if (name == "HashKeyRange") ReadRange(member.value().get_object(), shard);
  }
  return shard;
}

Result<Shard> ParseShard(const ShardText& text) {
  WEIR_ASSIGN_OR_RETURN(const ShardId id, ParseShardId(text.id));
  WEIR_ASSIGN_OR_RETURN(const HashKey first, ParseHashKey(text.first));
  WEIR_ASSIGN_OR_RETURN(const HashKey last, ParseHashKey(text.last));
  return Shard{id, {first, last}};
}

tl::unexpected<Error> Malformed(std::string_view operation, std::string_view what) {
  return Fail(Code::kDataLoss, fmt::format("answer to {}: {}", operation, what));
}

/// Hands each member of the answer to `read`. simdjson throws; nothing of that leaves this file.
template <class Read>
Status ReadMembers(std::string_view operation, std::string_view body, Read read) {
  try {
    parser reader;
    const simdjson::padded_string padded(body);
    document answer = reader.iterate(padded);
    for (field member : answer.get_object()) {
      const std::string name(std::string_view(member.unescaped_key()));
      read(name, member.value());
    }
    return {};
  } catch (const simdjson::simdjson_error& error) {
    return Malformed(operation, error.what());
  }
}

}  // namespace

std::string PutRecordsBody(const StreamAddress& stream, const std::vector<KinesisRecord>& records) {
  std::size_t size = kEntryFrame;
  for (const KinesisRecord& record : records) size += record.bytes() * 4 / 3 + kEntryFrame;
  std::string body;
  body.reserve(size);
  body += '{';
  AppendStream(body, stream);
  body += R"(,"Records":[)";
  for (const KinesisRecord& record : records) {
    if (&record != &records.front()) body += ',';
    AppendEntry(body, record);
  }
  body += "]}";
  return body;
}

Result<std::vector<EntryAnswer>> ReadPutRecords(std::string_view body) {
  std::vector<EntryAnswer> entries;
  bool there = false;
  WEIR_RETURN_IF_ERROR(ReadMembers("PutRecords", body, [&](const std::string& name, Json json) {
    if (name != "Records") return;
    there = true;
    for (auto entry : json.get_array()) entries.push_back(ReadEntry(entry.get_object()));
  }));
  if (!there) return Malformed("PutRecords", "it has no Records");
  for (const EntryAnswer& entry : entries) {
    if (entry.code.empty() && entry.sequence_number.empty()) {
      return Malformed("PutRecords", "an entry has neither a sequence number nor an error code");
    }
  }
  return entries;
}

std::string ListShardsBody(const StreamAddress& stream, std::string_view next_token) {
  std::string body = R"({"MaxResults":1000,)";
  // The service takes the stream with the first page only; an ARN with each.
  if (!next_token.empty()) {
    AppendMember(body, "NextToken", next_token);
    if (!stream.arn.empty()) body += ',';
  }
  if (next_token.empty() || !stream.arn.empty()) AppendStream(body, stream);
  if (next_token.empty()) body += R"(,"ShardFilter":{"Type":"AT_LATEST"})";
  body += '}';
  return body;
}

Result<ShardPage> ReadListShards(std::string_view body) {
  std::vector<ShardText> shards;
  ShardPage page;
  WEIR_RETURN_IF_ERROR(ReadMembers("ListShards", body, [&](const std::string& name, Json json) {
    if (name == "NextToken") page.next_token = TextOf(json);
    if (name != "Shards") return;
    for (auto shard : json.get_array()) shards.push_back(ReadShard(shard.get_object()));
  }));
  for (const ShardText& text : shards) {
    const auto shard = ParseShard(text);
    if (!shard) return Malformed("ListShards", shard.error().message);
    page.shards.push_back(*shard);
  }
  return page;
}

}  // namespace weir::kinesis
