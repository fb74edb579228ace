// The entries of a PutRecords body, found without a full parse.
#pragma once

#include <string_view>
#include <vector>

#include "weir/kinesis/hash_key.h"

namespace weir::bench {

/// Views into the body. Of JSON `data` is base64; of CBOR it is the bytes.
struct Entry {
  std::string_view partition_key;
  std::string_view hash_key;  ///< decimal; empty where it brings none
  std::string_view data;
};

/// In order. Knows what producers write, no more: false where a key holds an escape, or where the
/// body is something else.
bool FindJsonEntries(std::string_view body, std::vector<Entry>& entries);
bool FindCborEntries(std::string_view body, std::vector<Entry>& entries);

/// The stream's shards are equal parts of the space.
inline constexpr int kShards = 4;
kinesis::HashRange RangeOf(int shard);
/// Where the service would put it; negative where its hash key is none.
int ShardOf(const Entry& entry);

}  // namespace weir::bench
