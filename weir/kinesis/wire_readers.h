// Answers of the service in each format, before anybody asked whether they make sense.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/result.h"
#include "weir/kinesis/pipeline.h"

namespace weir::kinesis {

/// Records of PutRecords; nothing where there is no such member.
using EntryList = std::optional<std::vector<EntryAnswer>>;

struct ShardText {
  std::string id;
  std::string first;
  std::string last;
};

struct ShardListText {
  std::vector<ShardText> shards;
  std::string next_token;
};

/// kDataLoss, each with the byte at fault: the body is not of that format, or a member that is read
/// is not of its type. A member that is null is as one that is not there; of equal ones the last
/// counts; others are passed over.
[[nodiscard]] Result<EntryList> ReadJsonEntries(std::string_view body);
[[nodiscard]] Result<EntryList> ReadCborEntries(std::string_view body);
[[nodiscard]] Result<ShardListText> ReadJsonShards(std::string_view body);
[[nodiscard]] Result<ShardListText> ReadCborShards(std::string_view body);

/// How many entries to make room for: a PutRecords answer has about a hundred bytes for each.
inline std::size_t EntriesIn(std::string_view body) { return body.size() / 96 + 1; }

}  // namespace weir::kinesis
