#include "weir/kinesis/wire/read_wire.h"

#include <absl/strings/escaping.h>

#include <utility>

#include "weir/aws/json_response.h"
#include "weir/codec/json_members.h"
#include "weir/kinesis/wire/json_writer.h"
#include "weir/kinesis/wire/wire_writers.h"

namespace weir::kinesis {
namespace {

struct ShardFields {
  std::string id;
  std::string first;
  std::string last;
  std::vector<std::string> parents;
  bool closed = false;
};

void ReadRange(JsonObject fields, ShardFields& shard) {
  ForMembers(fields, [&](std::string_view name, JsonValue json) {
    if (name == "StartingHashKey") shard.first = TextOf(json);
    if (name == "EndingHashKey") shard.last = TextOf(json);
  });
}

void ReadSequence(JsonObject fields, ShardFields& shard) {
  ForMembers(fields, [&](std::string_view name, JsonValue json) {
    if (name == "EndingSequenceNumber") shard.closed = !TextOf(json).empty();
  });
}

// Reads a shard of ListShards or, with ParentShards, a child of GetRecords.
ShardFields ReadShardFields(JsonObject fields) {
  ShardFields shard;
  ForMembers(fields, [&](std::string_view name, JsonValue json) {
    if (name == "ShardId") shard.id = TextOf(json);
    if (name == "HashKeyRange") ReadRange(json.get_object(), shard);
    if (name == "SequenceNumberRange") ReadSequence(json.get_object(), shard);
    if (name == "ParentShardId" || name == "AdjacentParentShardId") {
      shard.parents.emplace_back(TextOf(json));
    }
    if (name == "ParentShards" && !json.is_null()) {
      for (auto parent : json.get_array()) shard.parents.emplace_back(TextOf(parent.value()));
    }
  });
  return shard;
}

void ReadFieldsOfShards(JsonValue json, std::vector<ShardFields>& shards) {
  if (json.is_null()) return;
  for (auto shard : json.get_array()) shards.push_back(ReadShardFields(shard.get_object()));
}

Result<ReadShard> ParseReadShard(const ShardFields& text) {
  ReadShard shard{.id = {}, .range = {}, .parents = {}, .closed = text.closed};
  WEIR_ASSIGN_OR_RETURN(shard.id, ParseShardId(text.id));
  WEIR_ASSIGN_OR_RETURN(shard.range.first, ParseHashKey(text.first));
  WEIR_ASSIGN_OR_RETURN(shard.range.last, ParseHashKey(text.last));
  for (const std::string& name : text.parents) {
    if (name.empty()) continue;
    WEIR_ASSIGN_OR_RETURN(const ShardId parent, ParseShardId(name));
    shard.parents.push_back(parent);
  }
  return shard;
}

Result<std::vector<ReadShard>> ParseShards(std::string_view operation,
                                           const std::vector<ShardFields>& texts) {
  std::vector<ReadShard> shards;
  for (const ShardFields& text : texts) {
    auto shard = ParseReadShard(text);
    if (!shard) return MalformedResponse(operation, shard.error().message);
    shards.push_back(*std::move(shard));
  }
  return shards;
}

// Sets `is_valid` to false if the record has no sequence number, or no data in base64.
StoredRecord ReadStored(JsonObject fields, bool& is_valid) {
  StoredRecord record;
  bool has_data = false;
  ForMembers(fields, [&](std::string_view name, JsonValue json) {
    if (name == "SequenceNumber") record.sequence_number = TextOf(json);
    if (name == "PartitionKey") record.partition_key = TextOf(json);
    if (name == "Data") {
      const std::string_view text = json.get_string();
      is_valid &= absl::Base64Unescape({text.data(), text.size()}, &record.data);
      has_data = true;
    }
  });
  is_valid &= has_data && !record.sequence_number.empty();
  return record;
}

/// Returns an object with the members that `write` writes.
template <class Write>
std::string JsonBody(const Write& write) {
  return WriteSized([&](auto& sink) {
    JsonWriter out(sink);
    out.OpenMap(0);
    write(out);
    out.CloseMap();
  });
}

std::string_view NameOf(Position::At at) {
  switch (at) {
    case Position::At::kTrimHorizon:
      return "TRIM_HORIZON";
    case Position::At::kLatest:
      return "LATEST";
    case Position::At::kTime:
      return "AT_TIMESTAMP";
    case Position::At::kAt:
      return "AT_SEQUENCE_NUMBER";
    case Position::At::kAfter:
      break;
  }
  return "AFTER_SEQUENCE_NUMBER";
}

}  // namespace

std::string ListAllShardsBody(const StreamAddress& stream, std::string_view next_token) {
  if (!next_token.empty()) return ListShardsBody(WireFormat::kJson, stream, next_token);
  return JsonBody([&](auto& out) {
    WriteMostShards(out);
    WriteStream(out, stream);
  });
}

Result<ReadShards> ReadListAllShards(std::string_view body) {
  std::vector<ShardFields> texts;
  ReadShards page;
  bool has_shards = false;
  WEIR_RETURN_IF_ERROR(ReadResponse("ListShards", body, [&](std::string_view name, JsonValue json) {
    if (name == "NextToken") page.next_token = TextOf(json);
    if (name != "Shards") return;
    has_shards = !json.is_null();
    ReadFieldsOfShards(json, texts);
  }));
  if (!has_shards) return MalformedResponse("ListShards", "it has no Shards");
  WEIR_ASSIGN_OR_RETURN(page.shards, ParseShards("ListShards", texts));
  return page;
}

std::string GetShardIteratorBody(const StreamAddress& stream, ShardId shard,
                                 const Position& position) {
  return JsonBody([&](auto& out) {
    WriteStream(out, stream);
    WriteMember(out, "ShardId", FormatShardId(shard));
    WriteMember(out, "ShardIteratorType", NameOf(position.at));
    if (position.at == Position::At::kAt || position.at == Position::At::kAfter) {
      WriteMember(out, "StartingSequenceNumber", position.sequence_number);
    }
    if (position.at == Position::At::kTime) {
      out.Name("Timestamp");
      out.Time(static_cast<std::uint64_t>(position.time.value));
    }
  });
}

Result<std::string> ReadGetShardIterator(std::string_view body) {
  std::string iterator;
  WEIR_RETURN_IF_ERROR(
      ReadResponse("GetShardIterator", body, [&](std::string_view name, JsonValue json) {
        if (name == "ShardIterator") iterator = TextOf(json);
      }));
  if (iterator.empty()) return MalformedResponse("GetShardIterator", "it has no ShardIterator");
  return iterator;
}

std::string GetRecordsBody(const StreamAddress& stream, std::string_view iterator,
                           std::size_t limit) {
  return JsonBody([&](auto& out) {
    WriteMember(out, "ShardIterator", iterator);
    out.Name("Limit");
    out.Number(limit);
    if (!stream.arn.empty()) WriteStream(out, stream);
  });
}

Result<RecordPage> ReadGetRecords(std::string_view body) {
  RecordPage page;
  std::vector<ShardFields> children;
  bool has_records = false;
  bool is_valid = true;
  WEIR_RETURN_IF_ERROR(ReadResponse("GetRecords", body, [&](std::string_view name, JsonValue json) {
    if (name == "NextShardIterator") page.next_iterator = TextOf(json);
    if (name == "MillisBehindLatest" && !json.is_null()) {
      page.behind = milliseconds(std::int64_t{json.get_int64()});
    }
    if (name == "ChildShards") ReadFieldsOfShards(json, children);
    if (name != "Records") return;
    has_records = true;
    for (auto record : json.get_array()) {
      page.records.push_back(ReadStored(record.get_object(), is_valid));
    }
  }));
  if (!has_records) return MalformedResponse("GetRecords", "it has no Records");
  if (!is_valid) {
    return MalformedResponse("GetRecords", "a record has no sequence number, or no data in base64");
  }
  WEIR_ASSIGN_OR_RETURN(page.children, ParseShards("GetRecords", children));
  return page;
}

}  // namespace weir::kinesis
