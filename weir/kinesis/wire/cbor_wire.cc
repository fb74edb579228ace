#include <algorithm>
#include <iterator>

#include "weir/codec/cbor.h"
#include "weir/kinesis/wire/wire_readers.h"

namespace weir::kinesis {
namespace {

std::string_view TextOrNull(CborReader& in) {
  if (!in.AtNull()) return in.Text();
  in.Skip();
  return {};
}

/// A member of a map, and the destination of its text. Other members are skipped.
struct Member {
  std::string_view name;
  std::string& text;
};

template <std::size_t kCount>
void ReadTexts(CborReader& in, const Member (&members)[kCount]) {
  for (auto items = in.Map(); in.More(items);) {
    const std::string_view name = in.Text();
    const auto* const member = std::ranges::find(members, name, &Member::name);
    if (member == std::end(members)) {
      in.Skip();
    } else {
      member->text = TextOrNull(in);
    }
  }
}

void ReadEntry(CborReader& in, EntryResponse& entry) {
  ReadTexts(in, {{"SequenceNumber", entry.sequence_number},
                 {"ShardId", entry.shard},
                 {"ErrorCode", entry.code},
                 {"ErrorMessage", entry.message}});
}

ShardText ReadShardText(CborReader& in) {
  ShardText shard;
  for (auto members = in.Map(); in.More(members);) {
    const std::string_view name = in.Text();
    if (name == "ShardId") {
      shard.id = TextOrNull(in);
    } else if (name == "HashKeyRange") {
      ReadTexts(in, {{"StartingHashKey", shard.first}, {"EndingHashKey", shard.last}});
    } else {
      in.Skip();
    }
  }
  return shard;
}

}  // namespace

Result<EntryList> ReadCborEntries(std::string_view body) {
  CborReader in(body);
  EntryList entries;
  for (auto members = in.Map(); in.More(members);) {
    if (in.Text() != "Records") {
      in.Skip();
      continue;
    }
    entries.emplace().reserve(EntriesIn(body));
    for (auto items = in.Array(); in.More(items);) ReadEntry(in, entries->emplace_back());
  }
  WEIR_RETURN_IF_ERROR(in.Finish());
  return entries;
}

Result<ShardListText> ReadCborShards(std::string_view body) {
  CborReader in(body);
  ShardListText list;
  for (auto members = in.Map(); in.More(members);) {
    const std::string_view name = in.Text();
    if (name == "NextToken") {
      list.next_token = TextOrNull(in);
    } else if (name == "Shards") {
      list.shards.emplace();
      for (auto items = in.Array(); in.More(items);) list.shards->push_back(ReadShardText(in));
    } else {
      in.Skip();
    }
  }
  WEIR_RETURN_IF_ERROR(in.Finish());
  return list;
}

}  // namespace weir::kinesis
