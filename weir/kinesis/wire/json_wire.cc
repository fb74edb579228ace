#include "weir/codec/json_members.h"
#include "weir/kinesis/wire/wire_readers.h"

namespace weir::kinesis {
namespace {

void ReadEntry(JsonObject fields, EntryResponse& entry) {
  ForMembers(fields, [&](std::string_view name, JsonValue json) {
    if (name == "SequenceNumber") entry.sequence_number = TextOf(json);
    if (name == "ShardId") entry.shard = TextOf(json);
    if (name == "ErrorCode") entry.code = TextOf(json);
    if (name == "ErrorMessage") entry.message = TextOf(json);
  });
}

void ReadRange(JsonObject fields, ShardText& shard) {
  ForMembers(fields, [&](std::string_view name, JsonValue json) {
    if (name == "StartingHashKey") shard.first = TextOf(json);
    if (name == "EndingHashKey") shard.last = TextOf(json);
  });
}

ShardText ReadShardText(JsonObject fields) {
  ShardText shard;
  ForMembers(fields, [&](std::string_view name, JsonValue json) {
    if (name == "ShardId") shard.id = TextOf(json);
    if (name == "HashKeyRange") ReadRange(json.get_object(), shard);
  });
  return shard;
}

}  // namespace

Result<EntryList> ReadJsonEntries(std::string_view body) {
  EntryList entries;
  WEIR_RETURN_IF_ERROR(ReadMembers(body, [&](std::string_view name, JsonValue json) {
    if (name != "Records") return;
    entries.emplace().reserve(EntriesIn(body));
    for (auto entry : json.get_array()) ReadEntry(entry.get_object(), entries->emplace_back());
  }));
  return entries;
}

Result<ShardListText> ReadJsonShards(std::string_view body) {
  ShardListText list;
  WEIR_RETURN_IF_ERROR(ReadMembers(body, [&](std::string_view name, JsonValue json) {
    if (name == "NextToken") list.next_token = TextOf(json);
    if (name != "Shards") return;
    list.shards.emplace();
    for (auto shard : json.get_array()) list.shards->push_back(ReadShardText(shard.get_object()));
  }));
  return list;
}

}  // namespace weir::kinesis
