#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>

#include "weir/kinesis/wire_readers.h"

namespace weir::kinesis {
namespace {

using simdjson::ondemand::document;
using simdjson::ondemand::field;
using simdjson::ondemand::object;
using simdjson::ondemand::parser;
using Json = simdjson::ondemand::value;

std::string_view TextOrNull(Json json) {
  if (json.is_null()) return {};
  return json.get_string();
}

void ReadEntry(object fields, EntryAnswer& entry) {
  for (field member : fields) {
    const std::string_view name = member.unescaped_key();
    if (name == "SequenceNumber") entry.sequence_number = TextOrNull(member.value());
    if (name == "ShardId") entry.shard = TextOrNull(member.value());
    if (name == "ErrorCode") entry.code = TextOrNull(member.value());
    if (name == "ErrorMessage") entry.message = TextOrNull(member.value());
  }
}

void ReadRange(object fields, ShardText& shard) {
  for (field member : fields) {
    const std::string_view name = member.unescaped_key();
    if (name == "StartingHashKey") shard.first = TextOrNull(member.value());
    if (name == "EndingHashKey") shard.last = TextOrNull(member.value());
  }
}

ShardText ReadShard(object fields) {
  ShardText shard;
  for (field member : fields) {
    const std::string_view name = member.unescaped_key();
    if (name == "ShardId") shard.id = TextOrNull(member.value());
    if (name == "HashKeyRange") ReadRange(member.value().get_object(), shard);
  }
  return shard;
}

/// Where reading stopped; the size of the text where all of it was read.
std::size_t PlaceIn(document& answer, const simdjson::padded_string& text) {
  const char* place = nullptr;
  if (answer.current_location().get(place) != simdjson::SUCCESS) return text.size();
  return std::min(static_cast<std::size_t>(place - text.data()), text.size());
}

/// Hands each member of the answer to `read`. simdjson throws; nothing of that leaves this file.
template <class Read>
Status ReadMembers(std::string_view body, Read read) {
  parser reader;
  const simdjson::padded_string text(body);
  document answer;
  if (const auto fault = reader.iterate(text).get(answer)) {
    return Fail(Code::kDataLoss, fmt::format("byte 0: {}", simdjson::error_message(fault)));
  }
  try {
    for (field member : answer.get_object()) {
      const std::string_view name = member.unescaped_key();
      read(name, member.value());
    }
  } catch (const simdjson::simdjson_error& error) {
    return Fail(Code::kDataLoss, fmt::format("byte {}: {}", PlaceIn(answer, text), error.what()));
  }
  const std::size_t end = PlaceIn(answer, text);
  if (end == text.size()) return {};
  return Fail(Code::kDataLoss, fmt::format("byte {}: more than one object", end));
}

}  // namespace

Result<EntryList> ReadJsonEntries(std::string_view body) {
  EntryList entries;
  WEIR_RETURN_IF_ERROR(ReadMembers(body, [&](std::string_view name, Json json) {
    if (name != "Records") return;
    entries.emplace().reserve(EntriesIn(body));
    for (auto entry : json.get_array()) ReadEntry(entry.get_object(), entries->emplace_back());
  }));
  return entries;
}

Result<ShardListText> ReadJsonShards(std::string_view body) {
  ShardListText list;
  WEIR_RETURN_IF_ERROR(ReadMembers(body, [&](std::string_view name, Json json) {
    if (name == "NextToken") list.next_token = TextOrNull(json);
    if (name != "Shards") return;
    list.shards.clear();
    for (auto shard : json.get_array()) list.shards.push_back(ReadShard(shard.get_object()));
  }));
  return list;
}

}  // namespace weir::kinesis
