// Responses of the service parsed from each format, before their contents are checked.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/result.h"
#include "weir/kinesis/pipeline/put_response.h"
#include "weir/kinesis/shards/shard_map.h"

namespace weir::kinesis {

/// The records of a PutRecords response; nothing if it has no such member.
using EntryList = std::optional<std::vector<EntryResponse>>;

struct ShardText {
  std::string id;
  std::string first;
  std::string last;
};

struct ShardListText {
  std::optional<std::vector<ShardText>> shards;  ///< nothing if the response has no such member
  std::string next_token;
};

/// The functions return kDataLoss, with the byte at fault, if the body is not of their format, or a
/// member that is read is not of its type. A text that is null counts as missing; of equal members
/// the last one counts; other members are skipped.
[[nodiscard]] Result<EntryList> ReadJsonEntries(std::string_view body);
[[nodiscard]] Result<EntryList> ReadCborEntries(std::string_view body);
[[nodiscard]] Result<ShardListText> ReadJsonShards(std::string_view body);
[[nodiscard]] Result<ShardListText> ReadCborShards(std::string_view body);

/// Returns the number of entries to reserve: a PutRecords response has about a hundred bytes for
/// each.
inline std::size_t EntriesIn(std::string_view body) { return body.size() / 96 + 1; }

}  // namespace weir::kinesis
